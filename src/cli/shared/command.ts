import { parseArgs } from 'node:util'
import { messageOf, printable } from '../../errors.ts'
import { type Description, helpOf } from './help.ts'
import { type Options, UsageError, type Values } from './option.ts'

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
export function defineCommand(name: string, command: Omit<Command, 'help'>): Command {
  return { ...command, help: helpOf(name, command) }
}

/** A command line, read. */
export interface Parsed<O extends Options> {
  readonly values: Values<O>
  /** The words that are no options; those behind `--` too. */
  readonly words: string[]
  /** The words in front of `--`. */
  readonly before: string[]
  /** The words behind `--`, which may be another program's; undefined without `--`. */
  readonly behind: string[] | undefined
}

/** Reads a command line by its options' declarations. Throws a {@link UsageError} that names the wrong word. */
export function parse<const O extends Options>(args: readonly string[], options: O): Parsed<O> {
  const at = args.indexOf('--')
  const behind = at < 0 ? undefined : args.slice(at + 1)
  const { values: texts, positionals: before } = split(at < 0 ? args : args.slice(0, at), options)
  const values: Record<string, unknown> = {}
  for (const [name, text] of Object.entries(texts)) {
    const { read } = options[name] ?? {}
    const one = (each: unknown) => read?.(String(each), `--${name}`) ?? each
    values[name] = Array.isArray(text) ? text.map(one) : one(text)
  }
  refuseUnfit(values, options)
  return { values: values as Values<O>, words: [...before, ...(behind ?? [])], before, behind }
}

/** Returns the values of these names that there are, for options of the library with the same names. */
export function pick<V extends object, const Name extends keyof V>(
  values: V,
  ...names: Name[]
): Pick<V, Name> {
  const there = names.filter((name) => values[name] !== undefined)
  return Object.fromEntries(there.map((name) => [name, values[name]])) as Pick<V, Name>
}

/** Throws a {@link UsageError} unless there is a path, and none is ''. */
export function requirePaths(paths: readonly string[]): void {
  if (paths.length === 0) throw new UsageError('name at least one PATH')
  if (paths.includes('')) throw new UsageError('one of the paths is empty')
}

/** Calls `parseArgs`, its complaints as {@link UsageError}. */
function split(args: readonly string[], options: Options) {
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

function refuseUnfit(values: object, options: Options): void {
  for (const name of Object.keys(values)) {
    const { needs, without = {} } = options[name] ?? {}
    if (needs !== undefined && !(needs in values)) throw new UsageError(`--${name} needs --${needs}`)
    const [other, why] = Object.entries(without).find(([each]) => each in values) ?? []
    if (other !== undefined) throw new UsageError(`--${name} does not go with --${other}${why && `, ${why}`}`)
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
