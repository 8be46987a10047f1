import { parseArgs } from 'node:util'
import { messageOf, printable } from '../../errors.ts'
import { LONGEST_TIMER } from '../../interval.ts'
import { type Description, helpOf } from './help.ts'
import type { Options } from './option.ts'

/** One of the commands of `inotify-bridge`. */
export interface Command extends Description {
  /** The text of --help. */
  readonly help: string
  /** True: the output is a log of the work, and not its purpose. The command goes on if nobody reads it. */
  printsLog?: true
  /** Runs until it is done or the signal aborts, and returns the exit code. */
  run(args: string[], signal: AbortSignal): Promise<number>
}

/** A command, of which --help, the manual page and the completion come from one description. */
export function defineCommand(
  name: string,
  description: Description,
  rest: Pick<Command, 'run' | 'printsLog'>,
): Command {
  return { ...description, ...rest, help: helpOf(name, description) }
}

/** The command line is wrong: one line that says how, and exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'ERR_USAGE'
}

type Parsed<T extends Options> = ReturnType<
  typeof parseArgs<{ options: T; allowPositionals: true; strict: true }>
>

/** `parseArgs`, its complaints as {@link UsageError}. Positionals are allowed. */
export function parse<const T extends Options>(args: string[], options: T): Parsed<T> {
  try {
    return parseArgs({ args: withNegatives(args, options), options, allowPositionals: true, strict: true })
  } catch (error) {
    const message = messageOf(error)
    // Node's text goes on to explain how to pass such an argument as a positional; the first sentence says what is wrong.
    const [sentence = ''] = message.split(/\. |\.?\n/)
    // The complaint about `--exclude -x`.
    const [, ambiguous = ''] = /^Option '(?:-., )?(--?[^' ]+).* argument is ambiguous/.exec(message) ?? []
    const joined = `${ambiguous}${ambiguous.startsWith('--') ? '=' : ''}-VALUE`
    const dashed = `${ambiguous} needs a value; one that begins with a dash is joined to it: ${joined}`
    throw new UsageError(printable(ambiguous === '' ? sentence : dashed))
  }
}

/** A number below 0 is the value of the option before it, of which whoever reads the value can say what it takes: `--settle -5`. */
function withNegatives(args: readonly string[], options: Options): string[] {
  const joined: string[] = []
  for (const arg of args) {
    const before = joined.at(-1) ?? ''
    const isLong = before.startsWith('--')
    const [, option] =
      Object.entries(options).find(([name, { short }]) =>
        isLong ? before === `--${name}` : /^-\w+$/.test(before) && before.at(-1) === short,
      ) ?? []
    if (/^-\d/.test(arg) && option?.type === 'string' && !joined.includes('--'))
      joined[joined.length - 1] = `${before}${isLong ? '=' : ''}${arg}`
    else joined.push(arg)
  }
  return joined
}

/** The number that an option gives; undefined where it is not given. By default no more than what a timer takes, and a pid is. */
export function numberOf(
  name: string,
  value: string | undefined,
  least: number,
  most: number = LONGEST_TIMER,
): number | undefined {
  if (value === undefined) return undefined
  const number = Number(value)
  if (value.trim() !== '' && Number.isSafeInteger(number) && number >= least && number <= most) return number
  const range = number > most ? `at most ${most}` : `at least ${least}`
  throw new UsageError(`${name} takes a whole number of ${range}; got '${printable(value)}'`)
}

/** The one of `choices` that an option gives; undefined where it is not given. */
export function choiceOf<const T extends string>(
  name: string,
  value: string | undefined,
  choices: readonly T[],
): T | undefined {
  if (value === undefined) return undefined
  const choice = choices.find((one) => one === value)
  if (choice === undefined) {
    throw new UsageError(`${name} takes ${choices.join(', ')}; got '${printable(value)}'`)
  }
  return choice
}
