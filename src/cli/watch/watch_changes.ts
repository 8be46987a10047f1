import { InotifyError, printable } from '../../errors.ts'
import { watch } from '../../watch/calls.ts'
import { provideEngine } from '../../watch/engine_part.ts'
import { openEngine } from '../../watch/open_engine.ts'
import type { Change, EntryChange, RenameChange } from '../../watch/report/change.ts'
import type { Coverage } from '../../watch/report/coverage.ts'
import { deadline } from '../shared/deadline.ts'
import { jsonLine, print, printsObjects, tell } from '../shared/output.ts'
import { reportProgress } from '../shared/progress.ts'
import { eventsOf, reportedAs } from './change_events.ts'
import { inotifywaitNames } from './event_names.ts'
import { pathFilter } from './path_filter.ts'
import type { WatchArguments } from './watch_options.ts'
import { givenPaths } from './watched_paths.ts'

/** Prints changes, or begins the command anew, until the signal aborts, or the first has come, or none has come for too long. Returns the exit code. */
export async function watchChanges(settings: WatchArguments, signal: AbortSignal): Promise<number> {
  const { paths, options, monitor, quiet, timeout, command } = settings
  const { ignore, isWanted, lines } = printerOf(settings)
  provideEngine(openEngine)
  // Loaded here: it needs much that other watches do not.
  const keeper = command && (await import('./kept_command.ts'))
  await using watcher = watch(paths, { ...options, ...(ignore && { ignore }), signal })
  await using kept = command && keeper?.keepCommand(command, watcher)
  // An error that ends the watcher comes to the listener, to the loop below, or to both.
  const told = new Set<unknown>()
  const tellOnce = (error: unknown) => {
    if (!told.has(error)) tell(error)
    told.add(error)
  }
  watcher.on('error', tellOnce)
  const wait = deadline(timeout, 'change', () => void watcher.close())
  const endProgress =
    quiet > 0 ? () => {} : reportProgress(() => `setting up watches: ${directories(watcher.coverage())}`)
  let [isReady, hasFailed] = [false, false]
  const fail = (error: unknown) => {
    hasFailed = true
    tellOnce(error)
    void watcher.close()
  }
  const onReady = () => {
    isReady = true
    endProgress()
    const absence = absenceIn(watcher.coverage())
    if (absence !== undefined) return fail(absence)
    if (quiet === 0) tellCoverage(watcher.coverage())
    wait.restart()
    kept?.start().catch(fail)
  }
  watcher.ready.then(onReady, () => {})

  // True: the entry was there when the watch began, and ends no wait. A later 'rescan' follows 'overflow' or 'restored'.
  const isInitial = (change: Change) =>
    options.initial === true && change.type === 'create' && change.source === 'rescan'
  try {
    // Reads from the start on: with `initial`, `ready` may come only after all existing entries have been taken.
    for await (const batch of watcher) {
      const wanted = batch.filter(isWanted)
      if (wanted.length === 0) continue
      wait.stop()
      if (kept !== undefined) {
        if (isReady) kept.changed()
      } else if (quiet < 2) await print(lines(wanted), signal)
      if (!monitor && wanted.some((change) => !isInitial(change))) return 0
      if (isReady) wait.restart()
    }
  } catch (error) {
    fail(error)
  } finally {
    endProgress()
    wait.stop()
  }
  return hasFailed ? 1 : wait.end()
}

/** Returns what chooses the changes that were asked for, and makes lines of them one by one: a batch may have hundreds of thousands. */
function printerOf({ paths, patterns, format, mask }: WatchArguments) {
  const given = givenPaths(paths)
  const filter = pathFilter(patterns, given.shown)
  // The cookie of the last printed rename.
  let cookies = 0
  const events = (change: EntryChange | RenameChange) =>
    eventsOf(change, mask).filter(({ path, kind }) => filter.tells(path, kind))
  return {
    ignore: filter.ignores,
    // A change of a root ('overflow', 'recovered', 'lost', 'restored') has no event, and is told whatever was asked for.
    isWanted: (change: Change) =>
      !('mask' in change) || reportedAs(change).some((each) => events(each).length > 0),
    *lines(changes: readonly Change[]): Iterable<string> {
      for (const change of changes) {
        if (printsObjects()) yield jsonLine(change)
        else if (!('mask' in change))
          yield format({ ...given.place(change.path), events: change.type.toUpperCase(), cookie: 0 })
        else
          for (const each of reportedAs(change)) {
            const cookie = each.type === 'rename' ? ++cookies : 0
            for (const { path, kind, mask: bits } of events(each))
              yield format({ ...given.place(path, kind), events: inotifywaitNames(bits), cookie })
          }
      }
    },
  }
}

function directories(coverage: readonly Coverage[]): string {
  const sum = coverage.reduce((total, row) => total + row.directories, 0)
  return `${sum.toLocaleString('en')} ${sum === 1 ? 'directory' : 'directories'}`
}

/** Tells one line for all paths that are watched in one way for one reason, as there may be thousands. */
function tellCoverage(coverage: readonly Coverage[]): void {
  const alike: Record<string, string[]> = {}
  for (const { path, backend, why } of coverage) {
    const how = `${backend} (${why})`
    alike[how] ??= []
    alike[how].push(path)
  }
  for (const [how, [first = '', ...rest]] of Object.entries(alike)) {
    const others = rest.length === 0 ? '' : ` and ${rest.length.toLocaleString('en')} more`
    tell(`${printable(first)}${others}: ${how}`, 'info')
  }
  tell(`Watches established: ${directories(coverage)}`, 'info')
}

/** Returns the error for a missing path, as inotifywait and unlike watch(): a user who has misspelt a path is better told than left waiting. */
function absenceIn(coverage: Coverage[]): InotifyError | undefined {
  for (const { path, uncovered } of coverage) {
    const error = uncovered.find((each) => each.path === path)?.error
    if (!(error instanceof InotifyError) || !['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code)) continue
    const remedy = 'a path must be there when the command starts: make it, or watch the directory above'
    const hint = error.code === 'ENOENT' ? remedy : ''
    return new InotifyError({ errno: -error.errno, syscall: 'watch', path, hint })
  }
  return undefined
}
