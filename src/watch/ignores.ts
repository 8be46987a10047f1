import { isAbsolute, normalize } from 'node:path'
import { invalidArgument } from '../errors.ts'
import { globPattern, isGlob } from './glob.ts'
import type { Kind } from './report/change.ts'

/** The rules of `ignore`, in whatever form the caller gave them. */
export interface Ignores {
  /** True if a rule needs the root that a path lies below. */
  readonly isByRoot: boolean
  /** @param relative the path from its root on; '' if `isByRoot` is false */
  has(path: string, relative: string, kind: Kind): boolean
}

type Given = ((path: string, kind: Kind) => boolean) | Array<string | RegExp>

const FORMS = 'a function, or an array of strings and RegExps'

/** Returns the rules of the option; undefined: nothing is ignored. Throws TypeError. */
export function ignoresOf(ignore: Given | undefined, option = 'options.ignore'): Ignores | undefined {
  if (ignore === undefined || (Array.isArray(ignore) && ignore.length === 0)) return undefined
  if (typeof ignore === 'function') return guarded(ignore)
  if (!Array.isArray(ignore)) throw invalidArgument(option, ignore, FORMS)
  const rules = ignore.map((rule) => ruleOf(rule, option))
  return {
    isByRoot: rules.some(({ isRelative }) => isRelative),
    has: (path, relative) => {
      const last = rules.findLast(({ matches }) => matches(path, relative))
      return last !== undefined && !last.isNegated
    },
  }
}

/** Returns the rules of the option `only`; undefined: all is reported. Symlinks that are followed may be directories. Throws TypeError. */
export function othersThan(only: string[] | undefined, followsLinks: boolean): Ignores | undefined {
  if (only === undefined) return undefined
  const named = Array.isArray(only) && only.length > 0 ? ignoresOf(only, 'options.only') : undefined
  if (named === undefined) throw invalidArgument('options.only', only, 'an array of globs, with one or more')
  return {
    isByRoot: named.isByRoot,
    has: (path, relative, kind) =>
      kind !== 'directory' && !(followsLinks && kind === 'symlink') && !named.has(path, relative, kind),
  }
}

/** Returns rules that ignore all that one of these ignores; undefined: nothing is ignored. */
export function allOf(...some: Array<Ignores | undefined>): Ignores | undefined {
  const all = some.filter((each) => each !== undefined)
  if (all.length < 2) return all[0]
  return {
    isByRoot: all.some(({ isByRoot }) => isByRoot),
    has: (path, relative, kind) => all.some((each) => each.has(path, relative, kind)),
  }
}

interface Rule {
  /** True: a path that matches is not ignored. */
  readonly isNegated: boolean
  readonly isRelative: boolean
  matches(path: string, relative: string): boolean
}

function ruleOf(rule: string | RegExp, option: string): Rule {
  // search, not test: a pattern with the g flag must not remember where it was.
  if (rule instanceof RegExp)
    return { isNegated: false, isRelative: true, matches: (_, relative) => relative.search(rule) >= 0 }
  if (typeof rule !== 'string' || rule === '') throw invalidArgument(option, rule, FORMS)
  const isNegated = /^!(?!\()/.test(rule)
  const named = normalize(isNegated ? rule.slice(1) : rule).replace(/(?<=.)\/$/, '')
  if (/^\.\.?(\/|$)/.test(named))
    throw invalidArgument(option, rule, 'a path or glob of what lies below the root, or an absolute one')
  const below = named === '/' ? '/' : `${named}/`
  const glob = isGlob(named) ? globPattern(named, option) : undefined
  const isNamed = (path: string) => path === named || path.startsWith(below) || glob?.test(path) === true
  const isRelative = !isAbsolute(named)
  return { isNegated, isRelative, matches: (path, relative) => isNamed(isRelative ? relative : path) }
}

// Turns a throw of the caller's predicate into an uncaught exception, as a listener's is: telling goes on.
function guarded(ignores: (path: string, kind: Kind) => boolean): Ignores {
  return {
    isByRoot: false,
    has: (path, _, kind) => {
      try {
        return ignores(path, kind)
      } catch (error) {
        queueMicrotask(() => {
          throw error
        })
        return false
      }
    },
  }
}
