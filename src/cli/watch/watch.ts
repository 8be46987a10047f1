import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  IN_ACCESS,
  IN_ALL_EVENTS,
  IN_CLOSE_NOWRITE,
  IN_CLOSE_WRITE,
  IN_DONT_FOLLOW,
  IN_OPEN,
} from '../../inotify/constants.ts'
import { formatMask } from '../../inotify/mask.ts'
import { LONGEST_TIMER } from '../../interval.ts'
import type { WatchOptions } from '../../watch/options.ts'
import { choiceOf, defineCommand, numberOf, parse, UsageError } from '../shared/command.ts'
import { flag, option, repeated } from '../shared/option.ts'
import { csvLine, type EventRow, plainLine, rowFormat } from './event_format.ts'
import { maskOfNames } from './event_names.ts'
import { PathFilter } from './path_filter.ts'
import { watchSupervised } from './supervised.ts'
import { watchChanges } from './watch_changes.ts'
import { watchRaw } from './watch_raw.ts'
import { GivenPaths, pathArguments } from './watched_paths.ts'

const OPTIONS = {
  monitor: flag('go on until Ctrl-C, instead of ending after the first changes', 'm'),
  recursive: flag('all that lies below, also what is made later', 'r'),
  event: repeated(
    'NAMES',
    'only these, as inotifywait has them: modify, attrib, close_write, close, moved_to, moved_from, move, create, delete; may be repeated or joined by commas',
    'e',
  ),
  timeout: option('SEC', 'end with exit code 1 after so long without a change; 0, the default: never', 't'),
  quiet: {
    ...flag(
      'do not say on stderr when the watches are established, and on what; -qq: do not print changes either',
      'q',
    ),
    multiple: true,
  },
  initial: flag('first print what is there, as created'),
  follow: flag('go into directories behind symlinks'),
  'no-dereference': flag('of a PATH that is a symlink, watch the link itself', 'P'),
  settle: option(
    'MS',
    'print that a file was modified when it has been quiet for so long; 0, the default: each time',
  ),
  backend: option('NAME', 'auto (by mount, the default), inotify or poll'),
  interval: option('MS', 'between polls; 250'),
  exclude: repeated(
    'REGEX',
    "not these. A directory is left out with all below it where REGEX matches its path and a slash: 'node_modules/'",
  ),
  excludei: repeated('REGEX', 'the same, whatever the case'),
  include: repeated('REGEX', 'only these; directories are searched in any case'),
  includei: repeated('REGEX', 'the same, whatever the case'),
  fromfile: repeated('FILE', 'paths, and @paths to leave out, a line each; -: from stdin'),
  format: option(
    'FMT',
    "%w directory with its slash, or watched file; %f name; %e events, %Xe with X between them; %c in hex what the two lines of a rename have in common, else 0; %T time; %n newline; %0 NUL; %%. With %0 in it, names are exact: --format '%w%f%0' --no-newline",
  ),
  timefmt: option('FMT', 'for %T, of strftime(3): %F %T %s %Y %y %m %d %H %M %S %%'),
  'no-newline': flag('none after each --format'),
  csv: flag('directory,events,name', 'c'),
  json: flag("an object a line: a Change, or with --raw the event's fields; on stderr as well"),
  raw: flag(
    "the kernel's own events on files or directories, every event of -e: wd, mask, cookie, name. On a mount that delivers no events the watch runs under 'inotify-bridge run', which has the kernel tell of what others change as well; not with --backend inotify",
  ),
} as const

const description = {
  usage: ['[OPTIONS] PATH... [@EXCLUDED...]'],
  about: `Waits for changes and prints them as inotifywait does: directory, events, name. What comes from a poll, on a mount that does
not deliver events, is printed alike. Of a watched path itself: LOST, RESTORED, OVERFLOW (events were lost; the difference
follows), RECOVERED.

REGEX is JavaScript's, searched for in the path as it is printed, and may be given more than once. @EXCLUDED: not this path and what is
below it. Control characters and backslashes in names are escaped.`,
  options: OPTIONS,
  notes: `Exit code: 0 done, 1 failed or nothing within --timeout, 2 wrong usage.

Environment: INOTIFY_BRIDGE_BACKEND, INOTIFY_BRIDGE_INTERVAL.`,
  examples: [
    'inotify-bridge watch -m -r src',
    "inotify-bridge watch -m -e moved_to --format '%T %w%f' --timefmt '%T' /etc/config",
    "inotify-bridge watch -mr --json --exclude 'node_modules/' . | jq .path",
  ],
}

type Values = ReturnType<typeof parse<typeof OPTIONS>>['values']

// --raw is neither watch() nor inotifywait: what it does not do is not overlooked in silence.
const WITH_RAW = new Set([
  'monitor',
  'event',
  'timeout',
  'quiet',
  'fromfile',
  'no-dereference',
  'json',
  'raw',
  'backend',
  'interval',
])

// In s.
const LONGEST_TIMEOUT = Math.floor(LONGEST_TIMER / 1000)

export const watchCommand = defineCommand('watch', description, {
  async run(args, signal) {
    const { values, positionals } = parse(args, OPTIONS)
    const wanted = {
      mask: maskOf(values),
      monitor: values.monitor === true,
      quiet: values.quiet?.length ?? 0,
      timeout: numberOf('--timeout', values.timeout, 0, LONGEST_TIMEOUT),
    }
    const format = formatOf(values)
    const unfit = values.raw && Object.keys(values).find((name) => !WITH_RAW.has(name))
    if (unfit) throw new UsageError(`--raw does not go with --${unfit}`)
    if (values['no-dereference'] && values.follow)
      throw new UsageError('--no-dereference does not go with --follow')
    const options = optionsOf(values)

    const { watched: paths, excluded } = await pathArguments(positionals, values.fromfile ?? [], signal)
    if (paths.length === 0) throw new UsageError('name at least one file or directory')
    if (paths.includes('')) throw new UsageError("one of the paths is empty: ''")
    const links = values['no-dereference'] ? linksAmong(paths) : []
    // A link is watched as an entry of its directory.
    const roots = paths.map((path) => (links.includes(path) ? dirname(path) : path))
    if (values.raw) {
      const code = await watchSupervised([...wordsOf(values), '--', ...paths], roots, options)
      return code ?? watchRaw({ ...wanted, paths, json: values.json === true }, signal)
    }
    const given = new GivenPaths(paths)
    const filter = new PathFilter(values, excluded, (path, kind) => given.shown(path, kind))
    if (filter.isExcluding || links.length > 0)
      options.ignore = (path, kind) =>
        filter.ignores(path, kind) || (links.length > 0 && !given.leadsTo(path))
    return watchChanges({ ...wanted, paths: roots, options, given, filter, format }, signal)
  },
})

function optionsOf(values: Values): WatchOptions {
  // inotifywait tells of each.
  const options: WatchOptions = { settle: numberOf('--settle', values.settle, 0) ?? 0 }
  const backend = choiceOf('--backend', values.backend, ['auto', 'inotify', 'poll'])
  const interval = numberOf('--interval', values.interval, 1)
  if (backend !== undefined) options.backend = backend
  if (interval !== undefined) options.interval = interval
  if (values.recursive) options.recursive = true
  if (values.initial) options.initial = true
  if (values.follow) options.followSymlinks = true
  return options
}

/** The flags of --raw, as they were given. */
function wordsOf(values: Values): string[] {
  return [
    ...(['raw', 'monitor', 'json', 'no-dereference'] as const)
      .filter((name) => values[name])
      .map((name) => `--${name}`),
    ...(values.event ?? []).map((names) => `--event=${names}`),
    ...(values.quiet ?? []).map(() => '-q'),
    ...(values.timeout === undefined ? [] : [`--timeout=${values.timeout}`]),
  ]
}

function linksAmong(paths: readonly string[]): string[] {
  return paths.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
}

function maskOf({ event: names, raw, 'no-dereference': stays }: Values): number {
  const mask = names === undefined ? IN_ALL_EVENTS : maskOfNames(names)
  if (raw) return mask | (stays ? IN_DONT_FOLLOW : 0)
  if (names === undefined) return mask
  // `close` asks for both of its kinds.
  const read = IN_ACCESS | IN_OPEN | (mask & IN_CLOSE_WRITE ? 0 : IN_CLOSE_NOWRITE)
  if (mask & read) throw new UsageError(`${formatMask(mask & read)} changes nothing; --raw tells of it`)
  return mask
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
