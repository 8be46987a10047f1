import type { Change } from '../../report/change.ts'
import type { Entry } from '../../scan/entry.ts'
import { eachBelow } from '../../tree/changes_below.ts'
import { Directory } from '../../tree/directory.ts'
import type { Tree } from '../../tree/tree.ts'

/** All that is believed below a directory, told to be gone. */
export function asGone(tree: Tree, directory: Directory): Change[] {
  return [...tree.entriesOf(directory)].map(([name, entry]) => {
    const path = tree.pathOf(directory, name)
    const change = { type: 'delete', path, kind: entry.kind, mask: 0, source: 'rescan' } as const
    tree.expansions?.note(change, eachBelow('delete', entry, path, 'rescan'))
    return change
  })
}

/**
 * All that is believed below a directory, told as new; parents first.
 *
 * @param isKnown what was told before
 * @param isWhole directories below which all was
 */
export function asNew(
  tree: Tree,
  directory: Directory,
  isKnown: (path: string, entry: Entry) => boolean,
  isWhole: (directory: Directory) => boolean,
): Change[] {
  const changes: Change[] = []
  const pending: Directory[] = [directory]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const [name, entry] of tree.entriesOf(next)) {
      const path = tree.pathOf(next, name)
      const { kind } = entry
      if (!isKnown(path, entry)) changes.push({ type: 'create', path, kind, mask: 0, source: 'rescan' })
      if (entry instanceof Directory && !isWhole(entry)) pending.push(entry)
    }
  }
  return changes
}
