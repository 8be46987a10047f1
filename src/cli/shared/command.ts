import { type ParseArgsConfig, parseArgs } from 'node:util'
import { printable } from '../../errors.ts'

/** One of the commands of `inotify-bridge`. */
export interface Command {
  help: string
  /** Runs until it is done or the signal aborts, and returns the exit code. */
  run(args: string[], signal: AbortSignal): Promise<number>
}

/** The command line is wrong: one line that says how, and exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

type Options = NonNullable<ParseArgsConfig['options']>
type Parsed<T extends Options> = ReturnType<
  typeof parseArgs<{ options: T; allowPositionals: true; strict: true }>
>

/** `parseArgs`, its complaints as {@link UsageError}. Positionals are allowed. */
export function parse<const T extends Options>(args: string[], options: T): Parsed<T> {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    // Node's text goes on to explain how to pass such an argument as a positional; the first sentence says what is wrong.
    const [sentence = ''] = message.split(/\. |\.?\n/)
    // But for `--exclude -x`: the last says what to do.
    const [, dashed] = /To specify an option argument (starting with a dash use .*)\.$/.exec(message) ?? []
    throw new UsageError(printable(dashed === undefined ? sentence : `${sentence}: one ${dashed}`))
  }
}

/** The number that an option gives; undefined where it is not given. */
export function numberOf(name: string, value: string | undefined, least: number): number | undefined {
  if (value === undefined) return undefined
  const number = Number(value)
  if (value.trim() === '' || !Number.isSafeInteger(number) || number < least) {
    throw new UsageError(`${name} takes a whole number of at least ${least}; got '${printable(value)}'`)
  }
  return number
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
