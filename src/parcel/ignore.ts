import * as path from 'node:path'

// Node has it from 20.17 on; the types of 20 do not.
const { matchesGlob } = path as unknown as { matchesGlob(name: string, pattern: string): boolean }

const GLOB = /[*?[\]{}!()]/

/** For watch(): paths with all that lies below them, glob patterns of what follows the directory, regular expressions of the same. Throws TypeError. */
export function ignoreOf(
  directory: string,
  ignore: ReadonlyArray<string | RegExp> = [],
): ((name: string) => boolean) | undefined {
  if (!Array.isArray(ignore) || !ignore.every((rule) => typeof rule === 'string' || rule instanceof RegExp))
    throw new TypeError('options.ignore must be an array of paths, glob patterns and RegExps')
  const rules = ignore.map((rule: string | RegExp) => ruleOf(directory, rule))
  return rules.length === 0 ? undefined : (name) => rules.some((ignores) => ignores(name))
}

function ruleOf(directory: string, rule: string | RegExp): (name: string) => boolean {
  const relative = (name: string) => path.relative(directory, name)
  if (rule instanceof RegExp) return (name) => relative(name).search(rule) >= 0
  if (GLOB.test(rule)) return (name) => matchesGlob(relative(name), rule)
  const ignored = path.resolve(directory, rule)
  return (name) => name === ignored || name.startsWith(`${ignored}/`)
}
