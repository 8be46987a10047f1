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
export function ignoresOf(ignore: Given | undefined): Ignores | undefined {
  if (ignore === undefined || (Array.isArray(ignore) && ignore.length === 0)) return undefined
  if (typeof ignore === 'function') return guarded(ignore)
  if (!Array.isArray(ignore)) throw invalidArgument('options.ignore', ignore, FORMS)
  const rules = ignore.map(ruleOf)
  return {
    isByRoot: ignore.some((rule) => rule instanceof RegExp || !isAbsolute(rule)),
    has: (path, relative) => rules.some((isIgnored) => isIgnored(path, relative)),
  }
}

function ruleOf(rule: string | RegExp): (path: string, relative: string) => boolean {
  // search, not test: a pattern with the g flag must not remember where it was.
  if (rule instanceof RegExp) return (_, relative) => relative.search(rule) >= 0
  if (typeof rule !== 'string' || rule === '') throw invalidArgument('options.ignore', rule, FORMS)
  const named = normalize(rule).replace(/(?<=.)\/$/, '')
  if (/^\.\.?(\/|$)/.test(named))
    throw invalidArgument(
      'options.ignore',
      rule,
      'a path or glob of what lies below the root, or an absolute one',
    )
  const below = named === '/' ? '/' : `${named}/`
  const glob = isGlob(named) ? globPattern(named) : undefined
  const isNamed = (path: string) => path === named || path.startsWith(below) || glob?.test(path) === true
  return isAbsolute(named) ? isNamed : (_, relative) => isNamed(relative)
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
