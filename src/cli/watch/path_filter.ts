import { printable } from '../../errors.ts'
import type { Kind } from '../../watch/report/change.ts'
import { type Reader, UsageError } from '../shared/option.ts'

/** Regular expressions, by the flag that gives them. */
export type Patterns = Partial<Record<'exclude' | 'excludei' | 'include' | 'includei', RegExp[]>>

/**
 * Decides which paths are told of. Searches the patterns in the path as it is printed (`%w%f`), as inotifywait does. Like there, a
 * directory is left out with all below it if a pattern matches its path with the slash behind it.
 */
export class PathFilter {
  readonly #exclude: RegExp[]
  readonly #include: RegExp[]
  readonly #excluded: ReadonlySet<string>
  readonly #shown: (path: string, kind: Kind) => string

  /** `excluded`: absolute paths. `shown`: an absolute path as it is printed. */
  constructor(
    { exclude = [], excludei = [], include = [], includei = [] }: Patterns,
    excluded: ReadonlySet<string>,
    shown: (path: string, kind: Kind) => string,
  ) {
    this.#exclude = [...exclude, ...excludei]
    this.#include = [...include, ...includei]
    this.#excluded = excluded
    this.#shown = shown
  }

  /** True: the filter may ignore some paths. */
  get isExcluding(): boolean {
    return this.#exclude.length > 0 || this.#excluded.size > 0
  }

  /** Returns true if a path, and all below it, is not to be looked at. */
  ignores(path: string, kind: Kind): boolean {
    if (this.#excluded.has(path)) return true
    if (this.#exclude.length === 0) return false
    const shown = this.#shown(path, kind)
    return matches(this.#exclude, kind === 'directory' ? `${shown}/` : shown)
  }

  /** Returns true if a change of a path is to be told. If not for a directory, changes below it still may be. */
  tells(path: string, kind: Kind): boolean {
    if (this.#exclude.length === 0 && this.#include.length === 0) return true
    const shown = this.#shown(path, kind)
    return !matches(this.#exclude, shown) && (this.#include.length === 0 || matches(this.#include, shown))
  }
}

function matches(patterns: RegExp[], text: string): boolean {
  return patterns.some((pattern) => pattern.test(text))
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
