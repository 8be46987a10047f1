import { printable } from '../../errors.ts'
import type { Kind } from '../../watch/report/change.ts'
import { UsageError } from '../shared/command.ts'

/** Regular expressions in text, by the flag that gives them. */
export interface Patterns {
  exclude?: string[] | undefined
  excludei?: string[] | undefined
  include?: string[] | undefined
  includei?: string[] | undefined
}

/**
 * Decides which paths are told of. Searches the patterns in the path as it is printed (`%w%f`), as inotifywait does. Like there, a
 * directory is left out with all below it if a pattern matches its path with the slash behind it.
 */
export class PathFilter {
  readonly #exclude: RegExp[]
  readonly #include: RegExp[]
  readonly #excluded: ReadonlySet<string>
  readonly #shown: (path: string, kind: Kind) => string

  /** `excluded`: absolute paths. `shown`: an absolute path as it is printed. Throws UsageError. */
  constructor(
    patterns: Patterns,
    excluded: ReadonlySet<string>,
    shown: (path: string, kind: Kind) => string,
  ) {
    this.#exclude = [
      ...compile('--exclude', patterns.exclude, ''),
      ...compile('--excludei', patterns.excludei, 'i'),
    ]
    this.#include = [
      ...compile('--include', patterns.include, ''),
      ...compile('--includei', patterns.includei, 'i'),
    ]
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

function compile(flag: string, patterns: string[] = [], insensitive: '' | 'i'): RegExp[] {
  return patterns.map((pattern) => {
    // Rejects POSIX classes that JavaScript takes for something else without a word: [[:alpha:]], [[.a.]], [[=a=]].
    const posix = /\[[^\]]*(\[([:.=])[^\]]+\2\])/.exec(pattern)?.[1]
    if (posix !== undefined) {
      throw new UsageError(
        `${flag} takes a regular expression of JavaScript, which has no ${printable(posix)}`,
      )
    }
    try {
      // With the u flag, escapes that mean nothing in JavaScript (\< and \>, the ends of words) are errors and not letters.
      return new RegExp(pattern, `u${insensitive}`)
    } catch (error) {
      const { message } = error as SyntaxError
      throw new UsageError(`${flag} takes a regular expression of JavaScript: ${printable(message)}`)
    }
  })
}
