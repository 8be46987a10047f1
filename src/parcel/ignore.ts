import * as path from 'node:path'

// Node has it from 20.17 on; the types of 20 do not.
const { matchesGlob } = path as unknown as { matchesGlob(name: string, pattern: string): boolean }

/** For watch(): paths with all below them; glob patterns and regular expressions of what follows the directory. */
export function ignoreOf(
  directory: string,
  rules: ReadonlyArray<string | RegExp>,
): (name: string) => boolean {
  const ignored = rules.map((rule) => matcherOf(directory, rule))
  return (name) => ignored.some((matches) => matches(name))
}

function matcherOf(directory: string, rule: string | RegExp): (name: string) => boolean {
  if (rule instanceof RegExp) return (name) => path.relative(directory, name).search(rule) >= 0
  if (/[*?[\]{}!()]/.test(rule)) return (name) => matchesGlob(path.relative(directory, name), rule)
  const ignored = path.resolve(directory, rule)
  return (name) => name === ignored || name.startsWith(`${ignored}/`)
}
