import type { Surroundings } from '../pending/work_list.ts'
import type { Kind } from '../report/change.ts'
import { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'

/**
 * What a root's tree has at a path below it: a directory that is listed, a 'file' (what is none, and leads to none), or 'nothing' yet: what comes
 * there the root will tell. 'elsewhere': the tree knows nothing of what the path leads to, and will not.
 */
export type Covering = Directory | 'file' | 'nothing' | 'elsewhere'

const KINDS: readonly Kind[] = ['file', 'directory', 'symlink', 'other']

/** @param names of the path, from the root's on */
export function coveringAt(
  tree: Tree,
  around: Pick<Surroundings, 'hides' | 'hidesSome'>,
  top: Directory,
  names: readonly string[],
): Covering {
  let directory = top
  for (const [i, name] of names.entries()) {
    const seen = whatIsSeenOf(directory)
    if (seen !== directory) return seen
    const entry = tree.entriesOf(directory).get(name)
    if (entry === undefined) {
      const path = tree.pathOf(directory)
      return hidesAny(around, path, names.slice(i)) ? 'elsewhere' : 'nothing'
    }
    if (!(entry instanceof Directory)) {
      // A link that is not followed, or a mount that is refused.
      if (entry.kind === 'symlink' || entry.kind === 'directory') return 'elsewhere'
      return i === names.length - 1 ? 'file' : 'nothing'
    }
    directory = entry
  }
  return whatIsSeenOf(directory)
}

/** Of a directory that cannot be read, or has no watch and is not polled for want of one, nobody tells. */
function whatIsSeenOf(directory: Directory): Covering {
  const { uncovered, leftover } = directory.mount
  if (uncovered.has(directory) && !leftover.has(directory)) return 'elsewhere'
  return directory.isListed ? directory : 'nothing'
}

/** Whether something on the way, of whatever kind, is ignored. */
function hidesAny(
  around: Pick<Surroundings, 'hides' | 'hidesSome'>,
  path: string,
  names: readonly string[],
): boolean {
  if (!around.hidesSome) return false
  let entry = path === '/' ? '' : path
  return names.some((name) => {
    entry += `/${name}`
    return KINDS.some((kind) => around.hides(entry, kind))
  })
}
