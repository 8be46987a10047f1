import type { Snapshot } from '../diff/snapshot/snapshot.ts'
import type { LostReason } from '../report/change.ts'
import { openError } from '../report/watch_error.ts'
import { type Root, reasonOfFinding } from '../roots/root.ts'

/** Returns the roots that are other directories by now than those that are known, or cannot be reached. */
export function replacedRoots(
  roots: readonly Root[],
  { directories }: Snapshot,
): Array<{ root: Root; reason: LostReason }> {
  return roots.flatMap((root) => {
    const { top } = root
    const found = directories.find(({ target }) => top !== undefined && target?.requested === top)
    const listing = found?.listing
    if (listing === undefined || (listing.error === 0 && root.is(listing))) return []
    return [{ root, reason: reasonOfFinding(listing) }]
  })
}

/** Throws if a root could not be opened for want of a descriptor: that says nothing of the root, and there is another poll. */
export function throwIfShort(roots: readonly Root[], { directories }: Snapshot): void {
  for (const { target, listing } of directories) {
    if (listing?.isShort !== true) continue
    const root = roots.find(({ top }) => top !== undefined && target?.requested === top)
    if (root !== undefined) throw openError(listing.error, root.path)
  }
}
