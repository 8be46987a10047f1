import { printable } from '../../errors.ts'
import type { Kind } from '../../watch/report/change.ts'
import { type Reader, UsageError } from '../shared/option.ts'

/** Regular expressions, by the flag that gives them. */
export type Patterns = Partial<Record<'exclude' | 'excludei' | 'include' | 'includei', RegExp[]>>

/**
 * Decides which paths are told of. Searches the patterns in the path as it is printed (`%w%f`), as inotifywait does. Like there, a
 * directory is left out with all below it if a pattern matches its path with the slash behind it.
 *
 * @param shown returns an absolute path as it is printed
 */
export function pathFilter(
  { exclude = [], excludei = [], include = [], includei = [] }: Patterns,
  shown: (path: string, kind: Kind) => string,
) {
  const excluding = [...exclude, ...excludei]
  const including = [...include, ...includei]
  const matches = (patterns: RegExp[], text: string) => patterns.some((pattern) => pattern.test(text))
  const ignores = (path: string, kind: Kind) =>
    matches(excluding, shown(path, kind) + (kind === 'directory' ? '/' : ''))
  return {
    /** Returns true if a path, and all below it, is not to be looked at; undefined: all are to be. */
    ignores: excluding.length === 0 ? undefined : ignores,
    /** Returns true if a change of a path is to be told. If not for a directory, changes below it still may be. */
    tells(path: string, kind: Kind): boolean {
      if (excluding.length + including.length === 0) return true
      const text = shown(path, kind)
      return !matches(excluding, text) && (including.length === 0 || matches(including, text))
    },
  }
}

/** Reads a regular expression, `i` for one that ignores case. */
export function pattern(insensitive: '' | 'i'): Reader<RegExp> {
  return (text, name) => {
    // Rejects POSIX classes that JavaScript takes for something else without a word: [[:alpha:]], [[.a.]], [[=a=]].
    const posix = /\[[^\]]*(\[([:.=])[^\]]+\2\])/.exec(text)?.[1]
    const takes = `${name} takes a regular expression of JavaScript`
    if (posix !== undefined) throw new UsageError(`${takes}, which has no ${printable(posix)}`)
    try {
      // With the u flag, escapes that mean nothing in JavaScript (\< and \>, the ends of words) are errors and not letters.
      return new RegExp(text, `u${insensitive}`)
    } catch (error) {
      throw new UsageError(`${takes}: ${printable((error as SyntaxError).message)}`)
    }
  }
}
