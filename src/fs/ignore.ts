import * as path from 'node:path'
import { invalidArgument } from '../errors.ts'

/** As fs.watch() has it: glob patterns, regular expressions and functions of what an event gives as its filename. */
export type FSWatchIgnore = IgnoreRule | IgnoreRule[]
type IgnoreRule = string | RegExp | ((filename: string) => boolean)

// Node has it from 20.17 on; the types of 20 do not.
const { matchesGlob } = path as unknown as { matchesGlob(name: string, pattern: string): boolean }

/** Whether a filename is ignored; undefined: none is. Throws TypeError. */
export function ignoredBy(
  ignore: FSWatchIgnore | null | undefined,
): ((filename: string) => boolean) | undefined {
  if (ignore === undefined || ignore === null) return undefined
  const rules = Array.isArray(ignore)
    ? ignore.map((rule, i) => matcherOf(rule, `options.ignore[${i}]`))
    : [matcherOf(ignore, 'options.ignore')]
  return (filename) => rules.some((matches) => matches(filename))
}

function matcherOf(rule: IgnoreRule, name: string): (filename: string) => boolean {
  if (typeof rule === 'function') return (filename) => Boolean(rule(filename))
  if (rule instanceof RegExp) return (filename) => rule.exec(filename) !== null
  if (typeof rule !== 'string') {
    const error = invalidArgument(name, rule, 'a string, a function or a RegExp')
    throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' })
  }
  if (rule === '') throw invalidArgument(name, rule, 'a non-empty string')
  // A pattern without a slash is one of the last name.
  const isOfName = !rule.includes('/')
  return (filename) => matchesGlob(isOfName ? path.basename(filename) : filename, rule)
}
