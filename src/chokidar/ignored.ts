import type { Stats } from 'node:fs'
import { isAbsolute, join, normalize } from 'node:path'

export type MatchFunction = (path: string, stats?: Stats) => boolean
export type MatcherObject = { path: string; recursive?: boolean }
export type Matcher = string | RegExp | MatchFunction | MatcherObject

/** What vim, Emacs and Sublime Text write beside a file, and what lies below such a name. */
export const OF_EDITORS = /(^|\/)(\.[^/]*\.sw[px]|[^/]*~|\.subl[^/]*\.tmp)(\/|$)/

/** Whether a path is ignored: by what it is called, or by what it is as well. */
export function ignoredBy(matchers: readonly Matcher[], cwd = ''): MatchFunction {
  const all = matchers.map((matcher) => matchFunctionOf(matcher, cwd))
  return (path, stats) =>
    all.some((matches) => matches(path) || (stats !== undefined && matches(path, stats)))
}

function matchFunctionOf(matcher: Matcher, cwd: string): MatchFunction {
  if (typeof matcher === 'function') return (path, stats) => Boolean(matcher(path, stats))
  if (matcher instanceof RegExp) return (path) => path.search(matcher) >= 0
  const { path: given, recursive = false } = typeof matcher === 'string' ? { path: matcher } : matcher
  const own = normalize(isAbsolute(given) ? given : join(cwd, given)).replace(/(.)\/$/, '$1')
  return (path) => path === own || (recursive && isBelow(path, own))
}

/** Whether a path lies below another. */
export function isBelow(path: string, above: string): boolean {
  return path !== above && path.startsWith(above.endsWith('/') ? above : `${above}/`)
}
