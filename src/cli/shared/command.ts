import { parseArgs } from 'node:util'
import { printable } from '../../errors.ts'
import type { Ending } from './ending.ts'
import { type Options, UsageError, type Values } from './option.ts'

/** One of the commands of `inotify-bridge`, of which --help, the manual page and the completion come from one description. */
export interface Command {
  /** A line, for the list of all commands. */
  readonly summary: string
  /** Behind its name, a line each. */
  readonly usage: readonly string[]
  /** Paragraphs. */
  readonly about: string
  readonly options: Options
  /** Paragraphs behind the options: exit codes and the environment too. */
  readonly notes: string
  /** Command lines. */
  readonly examples: readonly string[]
  /** True: the output is a log of the work, and not its purpose. The command goes on if nobody reads it. */
  printsLog?: true
  /** Runs until it is done or the signal aborts, and returns the exit code, or the end of the command in whose place it stands. */
  run(args: string[], signal: AbortSignal): Promise<number | Ending>
}

/** Reads a command line by its options' declarations. Throws a {@link UsageError} that names the wrong word. */
export function parse<const O extends Options>(args: readonly string[], options: O) {
  const values: Record<string, unknown> = {}
  // The words that are no options; those behind `--` too, which may be another program's.
  const words: string[] = []
  let behind: string[] | undefined
  // parseArgs would be strict in words of its own, and take each value with a dash for an option.
  for (const token of parseArgs({ args: [...args], options, strict: false, tokens: true }).tokens) {
    if (token.kind === 'option-terminator') behind = args.slice(token.index + 1)
    else if (token.kind === 'positional') words.push(token.value)
    else {
      const { name, rawName, value, inlineValue } = token
      const option = Object.hasOwn(options, name) ? options[name] : undefined
      if (option === undefined) throw new UsageError(`Unknown option '${printable(rawName)}'`)
      if (option.type === 'boolean' && value !== undefined) throw new UsageError(`${rawName} takes no value`)
      // A number below 0 is left to the option's reader, which says what the option takes.
      const isMissing = value === undefined || (!inlineValue && /^-\D/.test(value))
      if (option.type === 'string' && isMissing) {
        const joined = `${rawName}${rawName.startsWith('--') ? '=' : ''}-VALUE`
        throw new UsageError(
          `${rawName} needs a value; one that begins with a dash is joined to it: ${joined}`,
        )
      }
      const read = value === undefined ? true : option.read?.(value, `--${name}`)
      values[name] = option.multiple ? [...((values[name] as unknown[] | undefined) ?? []), read] : read
    }
  }
  for (const name of Object.keys(values)) {
    const { needs, without = {} } = options[name] ?? {}
    if (needs !== undefined && !(needs in values)) throw new UsageError(`--${name} needs --${needs}`)
    const [other, why] = Object.entries(without).find(([each]) => each in values) ?? []
    if (other !== undefined) throw new UsageError(`--${name} does not go with --${other}${why && `, ${why}`}`)
  }
  const before = words.slice(0, words.length - (behind?.length ?? 0))
  return { values: values as Values<O>, words, before, behind }
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
