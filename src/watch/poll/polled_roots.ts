import type { Snapshot } from '../diff/snapshot/snapshot.ts'
import { openError } from '../report/watch_error.ts'
import { type Root, reasonOfFinding } from '../roots/root.ts'
import type { RootMonitor } from '../roots/root_monitor.ts'

/**
 * Has each root attached anew that is another directory by now than the one that is known, or cannot be reached: it is lost, and not compared with what it was.
 * Returns true if there is one.
 */
export async function reattachReplaced(
  roots: readonly Root[],
  { directories }: Snapshot,
  rootMonitor: RootMonitor,
): Promise<boolean> {
  const replaced = roots.flatMap((root) => {
    const { top } = root
    const found = directories.find(({ target }) => top !== undefined && target?.requested === top)
    const listing = found?.listing
    if (listing === undefined || (listing.error === 0 && root.is(listing))) return []
    return [{ root, reason: reasonOfFinding(listing) }]
  })
  for (const { root, reason } of replaced) await rootMonitor.reattach(root, 'poll', reason)
  return replaced.length > 0
}

/** Throws if a root could not be opened for want of a descriptor: that says nothing of the root, and there is another poll. */
export function throwIfShort(roots: readonly Root[], { directories }: Snapshot): void {
  for (const { target, listing } of directories) {
    if (listing?.isShort !== true) continue
    const root = roots.find(({ top }) => top !== undefined && target?.requested === top)
    if (root !== undefined) throw openError(listing.error, root.path)
  }
}
