import { isAbsolute } from 'node:path'
import { invalidArgument } from '../errors.ts'

/** A stretch of a glob: a `**` between slashes, other stars, `?`, a class of characters, a brace, or one character. */
const TOKENS =
  /(?<lead>(?<=^|[/{,])\*\*\/)|(?<rest>(?:(?<=^|[{,])|\/)\*\*(?=[,}]|$))|(?<star>\*+)|\?|\[(?<not>[!^]?)(?<set>\]?[^\]/]*)\]|\\(?<escaped>.)|./gsu

/** Returns true if a text has characters that mean something else in a glob than in a path. */
export function isGlob(text: string): boolean {
  return /[*?[{]/.test(text) || (!isAbsolute(text) && /^!|[+@!]\(/.test(text))
}

/**
 * Returns the pattern of paths that a glob matches, and of all paths below these. `*` and `?` match within a name, a leading dot too; `**` any number of
 * directories; `[a-z]`, `[!a-z]` a character; `{a,b}` either. Throws TypeError for the syntax of other matchers, which would be taken for plain characters.
 */
export function globPattern(glob: string, option = 'options.ignore'): RegExp {
  let depth = 0
  const source = glob.replace(TOKENS, (token, ...found) => {
    const { lead, rest, star, not, set, escaped } = found.at(-1) as Record<string, string | undefined>
    if (lead) return '(?:[^/]+/)*'
    if (rest) return rest.startsWith('/') ? '(?:/.*)?' : '.*'
    if (star) return '[^/]*'
    if (token === '?') return '[^/]'
    if (set !== undefined) return `(?!/)[${not && '^'}${set.replace(/[\\[\]]/g, '\\$&')}]`
    if (token === '{') depth++
    if (token === '{') return '(?:'
    if (token === '}') return depth-- > 0 ? ')' : '\\}'
    if (token === ',' && depth > 0) return '|'
    return (escaped ?? token).replace(/[\^$\\.*+?()[\]{}|/]/, '\\$&')
  })
  const isRefused = /^!|[?*+@!]\(|\[:|\{[^,}]*\.\.[^,}]*\}/.test(glob) || depth > 0
  try {
    if (!isRefused) return new RegExp(`^(?:${source})(?:/|$)`, 'su')
  } catch {}
  throw invalidArgument(option, glob, 'a glob of *, **, ?, [a-z], [!a-z] and {a,b}; a RegExp says more')
}
