import { dirname } from 'node:path'
import type { Change } from '../report/change.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { SnapshotDir } from './snapshot/snapshot_dir.ts'

/** Returns the directories among those found in which something has changed, new ones too. The paths of the changes are keys still: see name_key.ts. */
export function changedAmong(
  found: readonly SnapshotDir[],
  changes: readonly Change[],
  tree: Tree,
): Directory[] {
  if (changes.length === 0) return []
  const paths = new Set(changes.flatMap((change) => pathsOf(change).map((path) => dirname(path))))
  return found.flatMap(({ match, isNew }) =>
    match !== undefined && (isNew || paths.has(tree.pathOf(match))) ? [match] : [],
  )
}

function pathsOf(change: Change): string[] {
  if (change.type === 'rename') return [change.path, change.from]
  return change.type === 'exchange' ? [change.path, change.other] : [change.path]
}
