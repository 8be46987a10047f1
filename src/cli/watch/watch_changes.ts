import { InotifyError, printable } from '../../errors.ts'
import { watch } from '../../watch/calls.ts'
import { provideEngine } from '../../watch/engine_part.ts'
import { openEngine } from '../../watch/open_engine.ts'
import type { WatchOptions } from '../../watch/options.ts'
import type { Change, EntryChange, RenameChange } from '../../watch/report/change.ts'
import type { Coverage } from '../../watch/report/coverage.ts'
import { deadline } from '../shared/deadline.ts'
import { jsonLine, print, tell } from '../shared/output.ts'
import { reportProgress } from '../shared/progress.ts'
import { type ChangeEvent, eventsOf, isAboutRoot, reportedAs } from './change_events.ts'
import type { EventRow } from './event_format.ts'
import { inotifywaitNames } from './event_names.ts'
import type { PathFilter } from './path_filter.ts'
import type { Wanted } from './watch_raw.ts'
import type { GivenPaths } from './watched_paths.ts'

/** The request of `watch` without --raw. */
export interface ChangesRequest extends Wanted {
  readonly options: WatchOptions
  readonly given: GivenPaths
  readonly filter: PathFilter
  /** Prints an event; undefined: --json. */
  readonly format: ((row: EventRow) => string) | undefined
}

/** Prints changes until the signal aborts, or the first has come, or none has come for too long. Returns the exit code. */
export async function watchChanges(request: ChangesRequest, signal: AbortSignal): Promise<number> {
  const { monitor, quiet, timeout } = request
  provideEngine(openEngine)
  await using watcher = watch(request.paths, { ...request.options, signal })
  // An error that ends the watcher comes to the listener, to the loop below, or to both.
  const told = new Set<unknown>()
  const tellOnce = (error: unknown) => {
    if (!told.has(error)) tell(error)
    told.add(error)
  }
  watcher.on('error', tellOnce)
  let isLate = false
  const { restart, stop } = deadline(timeout, () => {
    isLate = true
    void watcher.close()
  })
  const endProgress =
    quiet > 0 ? () => {} : reportProgress(() => `setting up watches: ${directories(watcher.coverage())}`)
  let isReady = false
  let absence: InotifyError | undefined
  const onReady = () => {
    isReady = true
    endProgress()
    absence = absenceIn(watcher.coverage())
    if (absence !== undefined) {
      void watcher.close()
      return
    }
    if (quiet === 0) tellCoverage(watcher.coverage())
    restart()
  }
  watcher.ready.then(onReady, () => {})

  const { isWanted, lines } = printerOf(request)
  try {
    // Reads from the start on: with `initial`, `ready` may come only after all existing entries have been taken.
    for await (const batch of watcher) {
      const wanted = batch.filter(isWanted)
      if (wanted.length === 0) continue
      stop()
      if (quiet < 2) await print(lines(wanted), signal)
      if (!monitor && wanted.some((change) => !isInitial(change, request.options))) return 0
      if (isReady) restart()
    }
  } catch (error) {
    tellOnce(error)
    return 1
  } finally {
    endProgress()
    stop()
  }
  if (absence !== undefined) {
    tellOnce(absence)
    return 1
  }
  if (isLate) tell(`no change within ${timeout} s`)
  return isLate ? 1 : 0
}

/** Returns what chooses the changes that were asked for, and makes lines of them. */
function printerOf({ filter, format, given, mask }: ChangesRequest) {
  // The cookie of the last printed rename.
  let cookies = 0
  const events = (change: EntryChange | RenameChange): ChangeEvent[] =>
    eventsOf(change, mask).filter(({ path, kind }) => filter.tells(path, kind))

  function isWanted(change: Change): boolean {
    return isAboutRoot(change) || reportedAs(change).some((each) => events(each).length > 0)
  }

  function* lines(changes: readonly Change[]): Iterable<string> {
    for (const change of changes) {
      if (format === undefined) yield jsonLine(change)
      else if (isAboutRoot(change)) {
        yield format({ ...given.place(change.path), events: change.type.toUpperCase(), cookie: 0 })
      } else {
        for (const each of reportedAs(change)) {
          const cookie = each.type === 'rename' ? ++cookies : 0
          for (const { path, kind, mask: bits } of events(each))
            yield format({ ...given.place(path, kind), events: inotifywaitNames(bits), cookie })
        }
      }
    }
  }
  return { isWanted, lines }
}

// True: the entry was there when the watch began, and ends no wait. A later 'rescan' follows 'overflow' or 'restored'.
function isInitial(change: Change, { initial }: WatchOptions): boolean {
  return initial === true && change.type === 'create' && change.source === 'rescan'
}

function directories(coverage: readonly Coverage[]): string {
  const sum = coverage.reduce((total, row) => total + row.directories, 0)
  return `${sum.toLocaleString('en')} ${sum === 1 ? 'directory' : 'directories'}`
}

/** Tells one line for all paths that are watched in one way for one reason, as there may be thousands. */
function tellCoverage(coverage: readonly Coverage[]): void {
  const alike = new Map<string, string[]>()
  for (const { path, backend, why } of coverage) {
    const how = `${backend} (${why})`
    const paths = alike.get(how)
    if (paths === undefined) alike.set(how, [path])
    else paths.push(path)
  }
  for (const [how, [first = '', ...rest]] of alike) {
    const others = rest.length === 0 ? '' : ` and ${rest.length.toLocaleString('en')} more`
    tell(`${printable(first)}${others}: ${how}`, 'info')
  }
  tell(`Watches established: ${directories(coverage)}`, 'info')
}

/** Returns the error for a missing path, as inotifywait and unlike watch(): a user who has misspelt a path is better told than left waiting. */
function absenceIn(coverage: Coverage[]): InotifyError | undefined {
  for (const { path, uncovered } of coverage) {
    const error = uncovered.find((each) => each.path === path)?.error
    if (error instanceof InotifyError && ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code)) {
      const hint =
        error.code === 'ENOENT'
          ? 'a path must be there when the command starts: make it, or watch the directory above'
          : ''
      return new InotifyError({ errno: -error.errno, syscall: 'watch', path, hint })
    }
  }
  return undefined
}
