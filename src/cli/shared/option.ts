import { printable } from '../../errors.ts'
import { LONGEST_TIMER } from '../../interval.ts'

/** Makes a value of an option's text; throws a {@link UsageError} that begins with the option's name. */
export type Reader<T> = (text: string, name: string) => T

/** An option as --help, the reader of the command line, the manual page and the completion have it. */
export interface Option {
  readonly type: 'string' | 'boolean'
  readonly multiple?: boolean
  readonly short?: string
  /** The name of its value in --help; undefined for a flag. */
  readonly argument?: string
  readonly text: string
  readonly read?: Reader<unknown>
  /** The option without which it has no meaning. */
  readonly needs?: string
  /** The options that it does not go with, and why: `which ends by itself`, or ''. */
  readonly without?: Readonly<Record<string, string>>
}

type Rules = Pick<Option, 'short' | 'needs' | 'without'>

export type Options = Readonly<Record<string, Option>>

/** The values of the options that were given. */
export type Values<O extends Options> = { -readonly [Name in keyof O]?: ValueOf<O[Name]> }

type ValueOf<O> = O extends { multiple: true } ? Array<OneOf<O>> : OneOf<O>
type OneOf<O> = O extends { read: Reader<infer T> } ? T : boolean

/** The command line is wrong: one line that says how, and exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'ERR_USAGE'
}

/** An option without a value. */
export const flag = (text: string, rules: Rules = {}) => ({ type: 'boolean', text, ...rules }) as const

/** An option with a value. */
export const option = <T>(argument: string, text: string, read: Reader<T>, rules: Rules = {}) =>
  ({ type: 'string', argument, text, read, ...rules }) as const

/** The same, which may be given more than once. */
export const repeated = <T>(argument: string, text: string, read: Reader<T>, rules: Rules = {}) =>
  ({ ...option(argument, text, read, rules), multiple: true }) as const

/** Returns the error of a value that an option does not take. */
export function wrongValue(name: string, takes: string, text: string): UsageError {
  return new UsageError(`${name} takes ${takes}; got '${printable(text)}'`)
}

export const JSON_OPTION = flag('an object a line, on stderr as well')

export const anyText: Reader<string> = (text) => text

/** Reads a text as it is, if a check of the library does not throw. */
export const passing =
  (check: (text: string, name: string) => unknown): Reader<string> =>
  (text, name) => {
    try {
      check(text, name)
      return text
    } catch (error) {
      throw new UsageError((error as TypeError).message)
    }
  }

export const path: Reader<string> = (text, name) => {
  if (text === '') throw wrongValue(name, 'a path', text)
  return text
}

/** Reads a whole number. By default no more than what a timer takes, and a pid is. */
export function whole(least: number, most: number = LONGEST_TIMER): Reader<number> {
  return (text, name) => {
    const number = Number(text)
    if (text.trim() !== '' && Number.isSafeInteger(number) && number >= least && number <= most) return number
    const range = number > most ? `at most ${most}` : `at least ${least}`
    throw wrongValue(name, `a whole number of ${range}`, text)
  }
}

export function oneOf<const T extends string>(...choices: T[]): Reader<T> {
  return (text, name) => {
    const choice = choices.find((one) => one === text)
    if (choice !== undefined) return choice
    throw wrongValue(name, choices.join(', '), text)
  }
}
