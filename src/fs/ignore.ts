import * as path from 'node:path'
import { invalidArgument } from '../errors.ts'

/** As fs.watch() has it: glob patterns (one without a slash is of the last name), regular expressions, and functions of the filename of an event. */
export type FSWatchIgnore = IgnoreRule | IgnoreRule[]
/**
 * One rule.
 * @inline
 */
type IgnoreRule = string | RegExp | ((filename: string) => boolean)

// Node has it from 20.17 on; the types of 20 do not.
const { matchesGlob } = path as unknown as { matchesGlob(name: string, pattern: string): boolean }

/** Returns a function that says whether a filename is ignored. Throws TypeError. */
export function ignoredBy(ignore: FSWatchIgnore): (filename: string) => boolean {
  const rules = Array.isArray(ignore)
    ? ignore.map((rule, i) => matcherOf(rule, `options.ignore[${i}]`))
    : [matcherOf(ignore, 'options.ignore')]
  return (filename) => rules.some((matches) => matches(filename))
}

function matcherOf(rule: IgnoreRule, name: string): (filename: string) => boolean {
  if (typeof rule === 'function') return (filename) => Boolean(rule(filename))
  if (rule instanceof RegExp) return (filename) => rule.exec(filename) !== null
  if (typeof rule !== 'string' || rule === '') {
    const error = invalidArgument(name, rule, 'a non-empty string, a function or a RegExp')
    throw rule === '' ? error : Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' })
  }
  // A pattern without a slash is one of the last name.
  const nameOf = rule.includes('/') ? (filename: string) => filename : path.basename
  return (filename) => matchesGlob(nameOf(filename), rule)
}
