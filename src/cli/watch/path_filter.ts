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
 * Which paths are told of. Patterns are searched for in the path as it is printed (`%w%f`), as inotifywait does; like there, a
 * directory is left out with all below it where one matches its path with the slash behind it.
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

  /** Whether there is anything that it may ignore. */
  get isExcluding(): boolean {
    return this.#exclude.length > 0 || this.#excluded.size > 0
  }

  /** Whether it is not to be looked at, and nothing below it. */
  ignores(path: string, kind: Kind): boolean {
    if (this.#excluded.has(path)) return true
    if (this.#exclude.length === 0) return false
    const shown = this.#shown(path, kind)
    return matches(this.#exclude, kind === 'directory' ? `${shown}/` : shown)
  }

  /** Whether a change of it is to be told: of a directory that is not, what lies below may be. */
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
    // What POSIX has and JavaScript takes for something else without a word: [[:alpha:]], [[.a.]], [[=a=]].
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
