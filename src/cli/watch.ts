import { basename, dirname } from 'node:path'
import {
  IN_ACCESS,
  IN_ALL_EVENTS,
  IN_ATTRIB,
  IN_CLOSE_NOWRITE,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_ISDIR,
  IN_MODIFY,
  IN_MOVED_FROM,
  IN_MOVED_TO,
  IN_OPEN,
} from '../inotify/constants.ts'
import { Inotify } from '../inotify/inotify.ts'
import { formatMask } from '../inotify/mask.ts'
import type { Change } from '../watch/change.ts'
import type { WatchOptions } from '../watch/options.ts'
import { watch } from '../watch/watcher.ts'
import { type Command, choiceOf, numberOf, parse, UsageError } from './command.ts'
import { inotifywaitNames, maskOfNames } from './event_names.ts'
import { printJson, printLine, tell } from './output.ts'

const HELP = `usage: inotify-bridge watch [OPTIONS] DIRECTORY...

Waits for a change in the directories and prints it: directory, events, name, as inotifywait does. What comes from a poll,
on a mount that does not deliver events, is printed alike.

  -m, --monitor        go on until Ctrl-C, instead of ending after the first changes
  -e, --event NAMES    only these, as inotifywait has them: modify, attrib, close_write, moved_to, moved_from, move,
                       create, delete; may be repeated or joined by commas
  -q, --quiet          do not say on stderr when the watches are established, and on what
      --backend NAME   auto (by mount, the default), inotify or poll
      --interval MS    between polls; 250
      --raw            the kernel's own events on files or directories, every event of -e: wd, mask, cookie, name
      --json           an object a line: a Change, or with --raw the event's fields
  -h, --help

Exit code: 0 done, 1 failed, 2 wrong usage. Environment: INOTIFY_BRIDGE_BACKEND, INOTIFY_BRIDGE_INTERVAL.
`

const OPTIONS = {
  monitor: { type: 'boolean', short: 'm' },
  event: { type: 'string', short: 'e', multiple: true },
  quiet: { type: 'boolean', short: 'q' },
  backend: { type: 'string' },
  interval: { type: 'string' },
  raw: { type: 'boolean' },
  json: { type: 'boolean' },
} as const

// What watch() does not report: nothing has changed.
const NO_CHANGE = IN_ACCESS | IN_OPEN | IN_CLOSE_NOWRITE

interface Request {
  paths: string[]
  mask: number
  monitor: boolean
  quiet: boolean
  json: boolean
  options: WatchOptions
}

export const watchCommand: Command = {
  summary: 'print the changes in directories, by inotify or by polling, as their mount needs',
  help: HELP,
  async run(args, signal) {
    const { values, positionals: paths } = parse(args, OPTIONS)
    if (paths.length === 0) throw new UsageError('name at least one directory')
    const names = values.event
    const request: Request = {
      paths,
      mask: names === undefined ? IN_ALL_EVENTS : maskOfNames(names),
      monitor: values.monitor === true,
      quiet: values.quiet === true,
      json: values.json === true,
      options: { signal },
    }
    if (values.raw) return watchRaw(request, signal)
    if (names !== undefined && (request.mask & ~NO_CHANGE) === 0) {
      throw new UsageError(`${formatMask(request.mask)} changes nothing; --raw tells of it`)
    }
    const backend = choiceOf('--backend', values.backend, ['auto', 'inotify', 'poll'])
    const interval = numberOf('--interval', values.interval, 1)
    if (backend !== undefined) request.options.backend = backend
    if (interval !== undefined) request.options.interval = interval
    return watchChanges(request)
  },
}

async function watchChanges({ paths, mask, monitor, quiet, json, options }: Request): Promise<number> {
  await using watcher = watch(paths, options)
  // What ends the start, and a limit that was met: then the root in question is polled, and the rest goes on.
  watcher.on('error', (error) => tell('watch', error.message))
  const changes = watcher[Symbol.asyncIterator]()
  const ready = await watcher.ready.then(
    () => true,
    () => false,
  )
  if (!ready) return options.signal?.aborted ? 0 : 1
  if (!quiet)
    for (const { path, backend, why } of watcher.coverage()) tell('watch', `${path}: ${backend} (${why})`)
  for await (const batch of changes) {
    const wanted = batch.filter((change) => (maskOf(change) & mask) !== 0 || isAboutRoot(change))
    for (const change of wanted) json ? printJson(change) : printChange(change)
    if (wanted.length > 0 && !monitor) break
  }
  return 0
}

async function watchRaw(
  { paths, mask, monitor, quiet, json }: Request,
  signal: AbortSignal,
): Promise<number> {
  using inotify = new Inotify({ signal })
  const pathOf = new Map(paths.map((path) => [inotify.add(path, mask), path]))
  if (!quiet) tell('watch', `${pathOf.size} watches established`)
  for await (const batch of inotify) {
    for (const event of batch) {
      const path = pathOf.get(event.wd) ?? ''
      if (json) printJson({ ...event, events: formatMask(event.mask), path })
      else printLine(`${path} wd=${event.wd} ${formatMask(event.mask)} cookie=${event.cookie} ${event.name}`)
    }
    if (!monitor) break
  }
  return 0
}

function isAboutRoot({ type }: Change): boolean {
  return type === 'overflow' || type === 'recovered' || type === 'lost' || type === 'restored'
}

/** The raw mask, or what would have been in it had the change not been found by a poll. */
function maskOf(change: Change): number {
  switch (change.type) {
    case 'create':
      return change.mask || IN_CREATE
    case 'modify':
      return change.mask || IN_MODIFY | IN_CLOSE_WRITE
    case 'attrib':
      return change.mask || IN_ATTRIB
    case 'delete':
      return change.mask || IN_DELETE
    case 'rename':
      return change.mask || IN_MOVED_FROM | IN_MOVED_TO
    default:
      return 0
  }
}

function printChange(change: Change): void {
  if (change.type === 'rename') {
    const isDirectory = change.kind === 'directory' ? IN_ISDIR : 0
    printEvent(change.from, inotifywaitNames(IN_MOVED_FROM | isDirectory))
    printEvent(change.path, inotifywaitNames(IN_MOVED_TO | isDirectory))
  } else if ('kind' in change) printEvent(change.path, inotifywaitNames(maskOf(change)))
  else printLine(`${change.path} ${change.type.toUpperCase()}`)
}

function printEvent(path: string, events: string): void {
  const directory = dirname(path)
  printLine(`${directory === '/' ? '/' : `${directory}/`} ${events} ${basename(path)}`)
}
