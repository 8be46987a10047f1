import { warn } from '../../warning.ts'
import type { Ignores } from '../ignores.ts'
import type { Entry } from './change.ts'

/** The tree as reported so far. */
interface Believed {
  has(path: string): boolean
  at(path: string): Iterable<Entry>
}

/** The characters of a glob that hardly occur in a name. */
const GLOB = /[*?]|\{[^}]*,/

/** Warns of roots that will never have changes to report, which the caller may not have meant. */
export function warnOfRoots(roots: Iterable<string>, believed: Believed, ignores: Ignores | undefined): void {
  for (const path of roots) {
    if (GLOB.test(path) && !believed.has(path))
      warn(
        'INOTIFY_BRIDGE_GLOB',
        `there is nothing at '${path}', which is watched as a name: no glob`,
        'Watch the directory with `recursive`, and say by `ignore` what is not to be reported.',
      )
    else if (ignores !== undefined) {
      const [root, first] = believed.at(path)
      const isEmpty = root?.kind === 'directory' && first === undefined
      if (isEmpty && ignores.has(path, '', 'directory'))
        warn(
          'INOTIFY_BRIDGE_IGNORED_ROOT',
          `the root '${path}' is hidden by \`ignore\`: nothing of it is reported`,
          'Strings and RegExps of `ignore` are about the path from the root on; a function is given the absolute path.',
        )
    }
  }
}
