import { printable } from '../../errors.ts'
import {
  IN_ACCESS,
  IN_ALL_EVENTS,
  IN_CLOSE_NOWRITE,
  IN_CLOSE_WRITE,
  IN_OPEN,
} from '../../inotify/constants.ts'
import { formatMask } from '../../inotify/mask.ts'
import { LONGEST_TIMER } from '../../interval.ts'
import type { WatchOptions } from '../../watch/options.ts'
import { type Command, choiceOf, numberOf, parse, UsageError } from '../shared/command.ts'
import { csvLine, type EventRow, plainLine, rowFormat } from './event_format.ts'
import { maskOfNames } from './event_names.ts'
import { PathFilter } from './path_filter.ts'
import { watchChanges } from './watch_changes.ts'
import { watchRaw } from './watch_raw.ts'
import { GivenPaths, pathArguments } from './watched_paths.ts'

const HELP = `usage: inotify-bridge watch [OPTIONS] PATH... [@EXCLUDED...]

Waits for changes and prints them as inotifywait does: directory, events, name. What comes from a poll, on a mount that does
not deliver events, is printed alike. Of a watched path itself: LOST, RESTORED, OVERFLOW (events were lost; the difference
follows), RECOVERED.

  -m, --monitor        go on until Ctrl-C, instead of ending after the first changes
  -r, --recursive      all that lies below, also what is made later
  -e, --event NAMES    only these, as inotifywait has them: modify, attrib, close_write, close, moved_to, moved_from, move,
                       create, delete; may be repeated or joined by commas
  -t, --timeout SEC    end with exit code 1 after so long without a change; 0, the default: never
  -q, --quiet          do not say on stderr when the watches are established, and on what; -qq: do not print changes either
      --initial        first print what is there, as created
      --follow         go into directories behind symlinks
      --settle MS      print that a file was modified when it has been quiet for so long
      --backend NAME   auto (by mount, the default), inotify or poll
      --interval MS    between polls; 250

What is watched and told of; REGEX is JavaScript's, searched for in the path as it is printed. Each may be repeated:
      --exclude REGEX, --excludei REGEX   not these; the i ignores case. A directory is left out with all below it where
                                          REGEX matches its path and a slash: 'node_modules/'
      --include REGEX, --includei REGEX   only these; directories are searched in any case
      --fromfile FILE                     paths, and @paths to leave out, a line each; -: from stdin
      @EXCLUDED                           not this path and what is below it

How it is printed; control characters and backslashes in names are escaped:
      --format FMT     %w directory with its slash, or watched file; %f name; %e events, %Xe with X between them; %c in hex
                       what the two lines of a rename have in common, else 0; %T time; %n newline; %0 NUL; %%
                       With %0 in it, names are exact: --format '%w%f%0' --no-newline
      --timefmt FMT    for %T, as strftime(3) in the C locale: '%F %T'
      --no-newline     none after each --format
  -c, --csv            directory,events,name
      --json           an object a line: a Change, or with --raw the event's fields
      --raw            the kernel's own events on files or directories, every event of -e: wd, mask, cookie, name
  -h, --help

Exit code: 0 done, 1 failed or nothing within --timeout, 2 wrong usage.
Environment: INOTIFY_BRIDGE_BACKEND, INOTIFY_BRIDGE_INTERVAL.
`

const OPTIONS = {
  monitor: { type: 'boolean', short: 'm' },
  recursive: { type: 'boolean', short: 'r' },
  event: { type: 'string', short: 'e', multiple: true },
  timeout: { type: 'string', short: 't' },
  quiet: { type: 'boolean', short: 'q', multiple: true },
  initial: { type: 'boolean' },
  follow: { type: 'boolean' },
  settle: { type: 'string' },
  backend: { type: 'string' },
  interval: { type: 'string' },
  exclude: { type: 'string', multiple: true },
  excludei: { type: 'string', multiple: true },
  include: { type: 'string', multiple: true },
  includei: { type: 'string', multiple: true },
  fromfile: { type: 'string', multiple: true },
  format: { type: 'string' },
  timefmt: { type: 'string' },
  'no-newline': { type: 'boolean' },
  csv: { type: 'boolean', short: 'c' },
  json: { type: 'boolean' },
  raw: { type: 'boolean' },
} as const

type Values = ReturnType<typeof parse<typeof OPTIONS>>['values']

// --raw is neither watch() nor inotifywait: what it does not do is not overlooked in silence.
const WITH_RAW = new Set(['monitor', 'event', 'timeout', 'quiet', 'fromfile', 'json', 'raw'])

// In s.
const LONGEST_TIMEOUT = Math.floor(LONGEST_TIMER / 1000)

export const watchCommand: Command = {
  help: HELP,
  async run(args, signal) {
    const { values, positionals } = parse(args, OPTIONS)
    const wanted = {
      mask: maskOf(values),
      monitor: values.monitor === true,
      quiet: values.quiet?.length ?? 0,
      timeout: timeoutOf(values),
    }
    const format = formatOf(values)
    const unfit = values.raw && Object.keys(values).find((name) => !WITH_RAW.has(name))
    if (unfit) throw new UsageError(`--raw does not go with --${unfit}`)
    const options = optionsOf(values)

    const { watched: paths, excluded } = await pathArguments(positionals, values.fromfile ?? [], signal)
    if (paths.length === 0) throw new UsageError('name at least one file or directory')
    if (paths.includes('')) throw new UsageError("one of the paths is empty: ''")
    if (values.raw) return watchRaw({ ...wanted, paths, json: values.json === true }, signal)
    const given = new GivenPaths(paths)
    const filter = new PathFilter(values, excluded, (path, kind) => given.shown(path, kind))
    if (filter.isExcluding) options.ignore = (path, kind) => filter.ignores(path, kind)
    return watchChanges({ ...wanted, paths, options, given, filter, format }, signal)
  },
}

function optionsOf(values: Values): WatchOptions {
  const options: WatchOptions = {}
  const backend = choiceOf('--backend', values.backend, ['auto', 'inotify', 'poll'])
  const interval = numberOf('--interval', values.interval, 1)
  const settle = numberOf('--settle', values.settle, 0)
  if (backend !== undefined) options.backend = backend
  if (interval !== undefined) options.interval = interval
  if (settle !== undefined) options.settle = settle
  if (values.recursive) options.recursive = true
  if (values.initial) options.initial = true
  if (values.follow) options.followSymlinks = true
  return options
}

function maskOf({ event: names, raw }: Values): number {
  if (names === undefined) return IN_ALL_EVENTS
  const mask = maskOfNames(names)
  if (raw) return mask
  // `close` asks for both of its kinds.
  const read = IN_ACCESS | IN_OPEN | (mask & IN_CLOSE_WRITE ? 0 : IN_CLOSE_NOWRITE)
  if (mask & read) throw new UsageError(`${formatMask(mask & read)} changes nothing; --raw tells of it`)
  return mask
}

function timeoutOf({ timeout }: Values): number | undefined {
  const seconds = numberOf('--timeout', timeout, 0)
  if (seconds === undefined || seconds <= LONGEST_TIMEOUT) return seconds
  throw new UsageError(
    `--timeout takes at most ${LONGEST_TIMEOUT} seconds; got '${printable(String(timeout))}'`,
  )
}

/** undefined: --json. */
function formatOf(values: Values): ((row: EventRow) => string) | undefined {
  const { format, timefmt, csv, json } = values
  const [one, other] = (['format', 'csv', 'json'] as const).filter((name) => values[name] !== undefined)
  if (other !== undefined) throw new UsageError(`--${one} does not go with --${other}`)
  for (const name of ['timefmt', 'no-newline'] as const) {
    if (values[name] !== undefined && format === undefined) throw new UsageError(`--${name} needs --format`)
  }
  if (json) return undefined
  if (format !== undefined) return rowFormat(format, timefmt, values['no-newline'] !== true)
  return csv ? csvLine : plainLine
}
