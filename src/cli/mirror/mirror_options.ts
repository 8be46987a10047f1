import type { MirrorOptions } from '../../mirror/options.ts'
import { LISTEN_OPTION, type ListenAddress, listenAddressOf } from '../service/listen.ts'
import { choiceOf, numberOf, parse, UsageError } from '../shared/command.ts'
import { flag, JSON_OPTION, option } from '../shared/option.ts'

/** The parsed command line of `inotify-bridge mirror`. */
export interface MirrorArguments {
  readonly sources: readonly string[]
  /** The TARGET; with `--in-place` the one source. */
  readonly target: string
  readonly options: MirrorOptions & { readonly limits: { readonly files: number; readonly bytes: number } }
  readonly once: boolean
  readonly json: boolean
  readonly readyFile: string | undefined
  readonly listen: ListenAddress | undefined
  /** The program and its arguments with `--in-place`. */
  readonly command: readonly [string, ...string[]] | undefined
}

export const MIRROR_OPTIONS = {
  interval: option('MS', 'between two looks at the source; 250'),
  quiet: option('MS', 'for which a file outside ..data must hold still before it is copied; 100'),
  'max-files': option('N', 'regular files that are copied of a SOURCE, at most; 1024'),
  'max-bytes': option('N', 'bytes in them, and in the texts of symlinks, at most; 16777216'),
  'over-limit': option(
    'MODE',
    "link (TARGET's files become links to the source's) or hold (the last good version stays); by default hold if there is anything in the source that is skipped, else link",
  ),
  once: flag(
    'end when a complete version of every SOURCE is in TARGET; 1, and what is missing or over the limits, if there is none',
  ),
  'ready-file': option(
    'FILE',
    'is there while TARGET can be relied on: from when a complete version of every SOURCE is in it to the end of the command, but not while the source is lost, is over the limits and held, or TARGET cannot be written',
  ),
  listen: LISTEN_OPTION,
  'in-place': flag('see above'),
  json: JSON_OPTION,
} as const

/** Parses the arguments of `inotify-bridge mirror`; throws a {@link UsageError} that names the wrong one. */
export function readMirrorArguments(args: readonly string[]): MirrorArguments {
  // The arguments behind -- are the program's own: its flags must not be read.
  const dashes = args.indexOf('--')
  const [head, tail] =
    dashes === -1 ? [[...args], undefined] : [args.slice(0, dashes), args.slice(dashes + 1)]
  const { values, positionals } = parse(head, MIRROR_OPTIONS)

  const overLimit = choiceOf('--over-limit', values['over-limit'], ['link', 'hold'])
  const interval = numberOf('--interval', values.interval, 1)
  const quiet = numberOf('--quiet', values.quiet, 0)
  const options: MirrorArguments['options'] = {
    limits: {
      files: numberOf('--max-files', values['max-files'], 0, Number.MAX_SAFE_INTEGER) ?? 1024,
      bytes: numberOf('--max-bytes', values['max-bytes'], 0, Number.MAX_SAFE_INTEGER) ?? 16 * 1024 * 1024,
    },
    ...(interval !== undefined && { interval }),
    ...(quiet !== undefined && { quiet }),
    ...(overLimit !== undefined && { overLimit }),
  }
  const rest = {
    once: values.once === true,
    json: values.json === true,
    readyFile: pathOf('--ready-file', values['ready-file']),
    listen: listenAddressOf(values.listen),
  }
  if (rest.once) {
    for (const name of ['ready-file', 'listen', 'in-place'] as const)
      if (values[name] !== undefined)
        throw new UsageError(`--${name} does not go with --once, which ends after the first pass`)
  }
  if (values['in-place'] === true) return { ...readInPlace(positionals, tail, options), ...rest }

  const paths = [...positionals, ...(tail ?? [])]
  const target = paths.pop()
  if (target === undefined || paths.length === 0) throw new UsageError('name a SOURCE and a TARGET')
  requirePaths([...paths, target])
  return { sources: paths, target, options, command: undefined, ...rest }
}

function readInPlace(
  positionals: readonly string[],
  command: readonly string[] | undefined,
  options: MirrorArguments['options'],
): Pick<MirrorArguments, 'sources' | 'target' | 'options' | 'command'> {
  const [source, another] = positionals
  if (source === undefined || another !== undefined)
    throw new UsageError('--in-place takes one SOURCE and no TARGET; the command comes behind --')
  requirePaths([source])
  const [program, ...args] = command ?? []
  if (program === undefined || program === '')
    throw new UsageError('--in-place needs a command: mirror SOURCE --in-place -- COMMAND ARG...')
  if (options.overLimit === 'link')
    throw new UsageError(
      '--over-limit link does not go with --in-place: the links would lead to themselves, SOURCE being hidden by the mirror',
    )
  return {
    sources: [source],
    target: source,
    options: { ...options, overLimit: 'hold' },
    command: [program, ...args],
  }
}

function pathOf(name: string, value: string | undefined): string | undefined {
  if (value === '') throw new UsageError(`${name} takes the path of a file; got ''`)
  return value
}

function requirePaths(paths: readonly string[]): void {
  if (paths.includes('')) throw new UsageError('one of the paths is empty')
}
