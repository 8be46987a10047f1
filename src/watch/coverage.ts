import type { Backend } from '../mounts/filesystems.ts'
import { textOf } from './names.ts'
import type { Root } from './root.ts'
import type { Tree } from './tree.ts'
import { isStaleMount } from './watch_error.ts'

/** Where the changes of a root come from: see {@link Watcher.coverage}. */
export interface Coverage {
  /** Where it begins: the root, or the mount point below it. */
  path: string
  backend: Backend
  /** One sentence: what the mount's type delivers, or who decided otherwise. */
  why: string
  directories: number
  /** What could not be watched as chosen. */
  uncovered: Array<{ path: string; error: Error }>
}

/**
 * @param isThere whether the root is present, or its first listing under way: how far that has come is told as well
 * @param slowness what is to be said of the polls
 */
export function coverageOf(
  root: Root,
  tree: Tree,
  isThere: boolean,
  slowness: string | undefined,
): Coverage[] {
  const ofRoot = (error: Error | undefined) => (error === undefined ? [] : [{ path: root.path, error }])
  const absence = ofRoot(root.absence)
  const stale = isStaleMount(root.absence) ? root.absence.hint : undefined
  const territories = isThere ? [...root.territories] : [...root.territories].slice(0, 1)
  if (territories.length === 0) {
    return [
      {
        path: root.path,
        backend: 'poll',
        why: stale ?? 'it is not there yet',
        directories: 0,
        uncovered: absence,
      },
    ]
  }
  return territories.map((territory) => {
    const uncovered = [...territory.uncovered].map(([directory, error]) => ({
      path: textOf(tree.pathOf(directory)),
      error,
    }))
    const refused = [...territory.refused].flatMap(([parent, mounts]) =>
      [...mounts].map(([name, error]) => ({ path: textOf(tree.pathOf(parent, name)), error })),
    )
    return {
      path: territory.base === undefined ? root.path : textOf(tree.pathOf(territory.base)),
      backend: territory.backend,
      why: stale ?? (slowness && territory.isPolled ? `${territory.why}; ${slowness}` : territory.why),
      directories: isThere ? territory.directories : 0,
      uncovered: [...absence, ...ofRoot(territory.limit), ...refused, ...uncovered],
    }
  })
}
