import {
  IN_ACCESS,
  IN_ALL_EVENTS,
  IN_CLOSE_NOWRITE,
  IN_CLOSE_WRITE,
  IN_OPEN,
} from '../../inotify/constants.ts'
import { formatMask } from '../../inotify/mask.ts'
import { LONGEST_TIMER } from '../../interval.ts'
import { relayAddress } from '../../relay/address.ts'
import { othersThan } from '../../watch/ignores.ts'
import type { WatchOptions } from '../../watch/options.ts'
import { type Command, parse, pick, requirePaths } from '../shared/command.ts'
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
import { pathFilter, pattern } from './path_filter.ts'
import { watchSupervised } from './supervised.ts'
import { watchChanges } from './watch_changes.ts'
import { watchRaw } from './watch_raw.ts'
import { givenPaths, pathsIn } from './watched_paths.ts'

/** The rule of the options of watch() and inotifywait: --raw must not overlook them in silence. */
const BY_CHANGES = { without: { raw: "which prints the kernel's own events" } }

const OPTIONS = {
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

export const watchCommand: Command = {
  summary: 'print the changes in directories, by inotify or by polling, as their mount needs',
  usage: ['[OPTIONS] PATH...', '[OPTIONS] PATH... -- COMMAND [ARG...]'],
  about: `Waits for changes and prints them as inotifywait does: directory, events, name. What comes from a poll, on a mount that does
not deliver events, is printed alike. Of a watched path itself: LOST, RESTORED, OVERFLOW (events were lost; the difference
follows), RECOVERED.

With COMMAND it prints no changes: it starts COMMAND, and upon changes ends it with all that it has started (SIGTERM, and SIGKILL after
2 s) and starts it anew; upon a git checkout once, when that is done. If COMMAND ends by itself, one line on stderr says so, and the next
change starts it. It has the same stdin, stdout and stderr. Ctrl-C ends COMMAND, and then the watch.

REGEX is JavaScript's, searched for in the path as it is printed, and may be given more than once. Control characters and backslashes
in names are escaped.`,
  options: OPTIONS,
  notes: `Exit code: 0 done, 1 failed or nothing within --timeout, 2 wrong usage.

Environment: INOTIFY_BRIDGE_BACKEND, INOTIFY_BRIDGE_INTERVAL, INOTIFY_BRIDGE_RELAY_TOKEN.`,
  examples: [
    'inotify-bridge watch -m -r src',
    'inotify-bridge watch -r --gitignore . -- node server.js',
    "inotify-bridge watch -mr --json --exclude 'node_modules/' . | jq .path",
  ],
  async run(args, signal) {
    const { values, paths, command } = readWords(args)
    for (const file of values.fromfile ?? []) paths.push(...(await pathsIn(file, signal)))
    const { monitor = false, quiet = [], raw, timeout = 0, format = PLAIN, timefmt } = values
    const goesOn = monitor || command !== undefined
    const wanted = { mask: maskOf(values), monitor: goesOn, quiet: quiet.length, timeout }
    const row = rowFormat(format, timefmt, values['no-newline'] !== true)
    const options: WatchOptions = {
      ...pick(values, 'backend', 'interval', 'recursive', 'initial', 'only', 'gitignore', 'relay'),
      ...(values.follow && { followSymlinks: true }),
      // inotifywait tells of each.
      settle: values.settle ?? 0,
      deferGit: command !== undefined,
    }

    requirePaths(paths)
    if (values.relay !== undefined && paths.length > 1) throw new UsageError('--relay is for one PATH')
    if (values.relay !== undefined && values.backend === 'inotify')
      throw new UsageError('--relay does not go with --backend inotify, which polls nothing')
    if (raw) return (await watchSupervised(args, paths, options)) ?? watchRaw({ ...wanted, paths }, signal)
    const given = givenPaths(paths)
    const filter = pathFilter(values, (path, kind) => given.shown(path, kind))
    if (filter.ignores) options.ignore = filter.ignores
    return watchChanges({ ...wanted, paths, options, given, filter, format: row, command }, signal)
  },
}

/** Reads the words of the command line. Behind `--` is COMMAND, or where no path is before it, as in `watch -- "$directory"`, the paths. */
function readWords(args: readonly string[]) {
  const { values, words, before, behind } = parse(args, OPTIONS)
  const isCommand = behind !== undefined && (before.length > 0 || values.fromfile !== undefined)
  if (!isCommand) {
    if (values.delay !== undefined) throw new UsageError('--delay needs -- COMMAND')
    return { values, paths: words, command: undefined }
  }
  const [program = '', ...rest] = behind
  if (program === '') throw new UsageError('there is no COMMAND behind --')
  for (const name of ['raw', 'initial', 'format'] as const)
    if (values[name] !== undefined)
      throw new UsageError(`--${name} does not go with -- COMMAND, in whose place no change is printed`)
  const argv = [program, ...rest] as const
  return { values, paths: before, command: { argv, delay: values.delay ?? 100 } }
}

function maskOf({ event: names, raw }: Values<typeof OPTIONS>): number {
  const mask = names === undefined ? IN_ALL_EVENTS : maskOfNames(names)
  if (raw || names === undefined) return mask
  // `close` asks for both of its kinds.
  const read = IN_ACCESS | IN_OPEN | (mask & IN_CLOSE_WRITE ? 0 : IN_CLOSE_NOWRITE)
  if (mask & read) throw new UsageError(`${formatMask(mask & read)} changes nothing; --raw tells of it`)
  return mask
}
