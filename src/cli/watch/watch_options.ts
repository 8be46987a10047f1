import * as inotify from '../../inotify/constants.ts'
import { formatMask } from '../../inotify/mask.ts'
import { LONGEST_TIMER } from '../../interval.ts'
import { relayAddress } from '../../relay/address.ts'
import { othersThan } from '../../watch/ignores.ts'
import type { WatchOptions } from '../../watch/options.ts'
import { parse, pick } from '../shared/command.ts'
import {
  anyText,
  flag,
  oneOf,
  option,
  passing,
  repeated,
  UsageError,
  type Values,
  whole,
} from '../shared/option.ts'
import { PLAIN, rowFormat } from './event_format.ts'
import { maskOfNames } from './event_names.ts'
import { pattern } from './path_filter.ts'

/** The parsed command line of `inotify-bridge watch`. */
export type WatchArguments = ReturnType<typeof readWatchArguments>

/** The rule of the options of watch() and inotifywait: --raw must not overlook them in silence. */
const BY_CHANGES = { without: { raw: "which prints the kernel's own events" } }

export const WATCH_OPTIONS = {
  monitor: flag('go on until Ctrl-C, instead of ending after the first changes', { short: 'm' }),
  recursive: flag('all that lies below, also what is made later', { short: 'r', ...BY_CHANGES }),
  event: repeated(
    'NAMES',
    'only these, as inotifywait has them: modify, attrib, close_write, close, moved_to, moved_from, move, create, delete; may be repeated or joined by commas',
    anyText,
    { short: 'e' },
  ),
  timeout: option(
    'SEC',
    'end with exit code 1 after so long without a change; 0, the default: never',
    whole(0, Math.floor(LONGEST_TIMER / 1000)),
    { short: 't' },
  ),
  quiet: {
    ...flag(
      'do not say on stderr when the watches are established, and on what; -qq: do not print changes either',
      { short: 'q' },
    ),
    multiple: true,
  },
  initial: flag('first print what is there, as created', BY_CHANGES),
  follow: flag('go into directories behind symlinks', BY_CHANGES),
  settle: option(
    'MS',
    'print that a file was modified when it has been quiet for so long; 0, the default: each time',
    whole(0),
    BY_CHANGES,
  ),
  backend: option('NAME', 'auto (by mount, the default), inotify or poll', oneOf('auto', 'inotify', 'poll')),
  interval: option('MS', 'between polls; 250', whole(1)),
  relay: option(
    'ADDRESS',
    "unix:PATH or tcp:HOST:PORT of an 'inotify-bridge relay' for the one PATH, on the host that changes it: changes are told within milliseconds, and polls are 30 s apart",
    passing(relayAddress),
    BY_CHANGES,
  ),
  exclude: repeated(
    'REGEX',
    "not these. A directory is left out with all below it where REGEX matches its path and a slash: 'node_modules/'",
    pattern(''),
    BY_CHANGES,
  ),
  excludei: repeated('REGEX', 'the same, whatever the case', pattern('i'), BY_CHANGES),
  include: repeated('REGEX', 'only these; directories are searched in any case', pattern(''), BY_CHANGES),
  includei: repeated('REGEX', 'the same, whatever the case', pattern('i'), BY_CHANGES),
  only: repeated(
    'GLOB',
    "only these files, as '**/*.ts'; directories are searched in any case",
    passing((text) => othersThan([text], false)),
    BY_CHANGES,
  ),
  gitignore: flag(
    'nothing that git ignores, nor .git: .gitignore files are read again when they change',
    BY_CHANGES,
  ),
  delay: option('MS', 'without a change before COMMAND is begun anew; 100', whole(0), BY_CHANGES),
  fromfile: repeated('FILE', 'paths, a line each; -: from stdin', anyText, BY_CHANGES),
  format: option(
    'FMT',
    "%w directory with its slash, or watched file; %f name; %e events, %Xe with X between them; %c in hex what the two lines of a rename have in common, else 0; %T time; %n newline; %0 NUL; %%. With %0 in it, names are exact: --format '%w%f%0' --no-newline",
    anyText,
    { without: { ...BY_CHANGES.without, json: '' } },
  ),
  timefmt: option('FMT', 'for %T, of strftime(3): %F %T %s %Y %y %m %d %H %M %S %%', anyText, {
    needs: 'format',
  }),
  'no-newline': flag('none after each --format', { needs: 'format' }),
  json: flag("an object a line: a Change, or with --raw the event's fields; on stderr as well"),
  raw: flag(
    "the kernel's own events on files or directories, every event of -e: wd, mask, cookie, name. On a mount that delivers no events the watch runs under 'inotify-bridge run', which has the kernel tell of what others change as well; not with --backend inotify",
  ),
} as const

/** Parses the arguments of `inotify-bridge watch`; throws a {@link UsageError} that names the wrong one. */
export function readWatchArguments(args: readonly string[]) {
  const { values, words, before, behind } = parse(args, WATCH_OPTIONS)
  const { monitor = false, quiet = [], timeout = 0, fromfile: files = [], raw = false } = values
  // Behind `--` is COMMAND, or where no path is before it, as in `watch -- "$directory"`, the paths.
  const isCommand = behind !== undefined && (before.length > 0 || files.length > 0)
  if (!isCommand && values.delay !== undefined) throw new UsageError('--delay needs -- COMMAND')
  const command = isCommand ? commandOf(values, behind) : undefined
  const options: WatchOptions = {
    ...pick(values, 'backend', 'interval', 'recursive', 'initial', 'only', 'gitignore', 'relay'),
    ...(values.follow && { followSymlinks: true }),
    // inotifywait tells of each.
    settle: values.settle ?? 0,
    deferGit: isCommand,
  }
  return {
    paths: isCommand ? before : words,
    /** The files that more paths are in. */
    files,
    raw,
    /** The events that are asked for. */
    mask: maskOf(values),
    monitor: monitor || isCommand,
    /** 1: only events are printed; 2: nothing at all. */
    quiet: quiet.length,
    /** In seconds; 0: none. */
    timeout,
    /** Prints an event, without --json. */
    format: rowFormat(values.format ?? PLAIN, values.timefmt, values['no-newline'] !== true),
    patterns: pick(values, 'exclude', 'excludei', 'include', 'includei'),
    options,
    /** The command that is begun anew upon changes, in place of their print. */
    command,
  }
}

function commandOf(values: Values<typeof WATCH_OPTIONS>, [program = '', ...rest]: readonly string[]) {
  if (program === '') throw new UsageError('there is no COMMAND behind --')
  for (const name of ['raw', 'initial', 'format'] as const)
    if (values[name] !== undefined)
      throw new UsageError(`--${name} does not go with -- COMMAND, in whose place no change is printed`)
  return { argv: [program, ...rest] as const, delay: values.delay ?? 100 }
}

function maskOf({ event: names, raw }: Values<typeof WATCH_OPTIONS>): number {
  const mask = names === undefined ? inotify.IN_ALL_EVENTS : maskOfNames(names)
  if (raw || names === undefined) return mask
  const { IN_ACCESS, IN_CLOSE_NOWRITE, IN_CLOSE_WRITE, IN_OPEN } = inotify
  // `close` asks for both of its kinds.
  const read = IN_ACCESS | IN_OPEN | (mask & IN_CLOSE_WRITE ? 0 : IN_CLOSE_NOWRITE)
  if (mask & read) throw new UsageError(`${formatMask(mask & read)} changes nothing; --raw tells of it`)
  return mask
}
