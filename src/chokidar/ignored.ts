import type { Stats } from 'node:fs'
import { isAbsolute, join } from 'node:path'

/** Returns true for a path that is ignored. `stats` has the type alone: isFile(), isDirectory() and the like. */
export type MatchFunction = (path: string, stats?: Stats) => boolean
/** A path, and with `recursive` everything below it. */
export type MatcherObject = { path: string; recursive?: boolean }
/** A rule of `ignored`. */
export type Matcher = string | RegExp | MatchFunction | MatcherObject

/** The files that vim, Emacs and Sublime Text write beside a file, and everything below such a name. */
export const OF_EDITORS = /(^|\/)(\.[^/]*\.sw[px]|[^/]*~|\.subl[^/]*\.tmp)(\/|$)/

/** Returns a function that says whether a path is ignored: by its name, or by its type as well. */
export function ignoredBy(matchers: readonly Matcher[], cwd = ''): MatchFunction {
  const all = matchers.map((matcher) => matchFunctionOf(matcher, cwd))
  return (path, stats) => all.some((matches) => matches(path, stats))
}

function matchFunctionOf(matcher: Matcher, cwd: string): MatchFunction {
  if (typeof matcher === 'function') return matcher
  if (matcher instanceof RegExp) return (path) => path.search(matcher) >= 0
  const { path: given, recursive = false } = typeof matcher === 'string' ? { path: matcher } : matcher
  const own = join(isAbsolute(given) ? '' : cwd, given, '.')
  return (path) => (recursive ? isIn(path, own) : path === own)
}

/** Returns true if a path is another, or lies below it. */
export function isIn(path: string, above: string): boolean {
  return path === above || path.startsWith(above.endsWith('/') ? above : `${above}/`)
}
