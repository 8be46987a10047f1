import type { EventBatch } from '../../inotify/batch.ts'
import { IN_MOVE_SELF, IN_MOVED_FROM, IN_UNMOUNT } from '../../inotify/constants.ts'
import { isWithin } from '../../mounts/mountinfo.ts'
import { warnOfAbandonedThread } from '../../mounts/syscalls/abandoned_thread.ts'
import { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import { ABOUT_NAME, GONE } from '../events/watch_mask.ts'
import type { WatchRelease } from '../events/watch_release.ts'
import type { LostReason, Source } from '../report/change.ts'
import type { Reporter } from '../report/reporter.ts'
import { isLimit, isRefused } from '../report/watch_error.ts'
import type { WatchShortage } from '../report/watch_shortage.ts'
import type { Entry } from '../scan/entry.ts'
import type { SourceChoice } from '../source_choice.ts'
import type { WatchSystem } from '../system.ts'
import type { WatchedMount } from '../tree/directory.ts'
import type { FileNews, FileRoot } from './file_root.ts'
import type { Coverings } from './forest/covering.ts'
import type { Hint, PathWatches } from './path_watches.ts'
import type { SeenBefore } from './root.ts'
import type { RootPaths } from './root_paths.ts'
import {
  type Adding,
  isOutOfWatches,
  pollInstead,
  turnsOf,
  type WatchedWay,
  type Way,
  watchFile,
  watchWays,
} from './ways.ts'

/** ms without an answer after which a thread is not waited for. */
const PATIENCE_MS = 500

export interface FileRootsParts {
  system: WatchSystem
  inotify: Pick<InotifySource, 'instance'>
  /** What tells that a file may be another: see ways.ts. */
  ways: PathWatches<FileRoot>
  paths: RootPaths
  watches: WatchRelease
  coverings: Coverings
  sourceChoice: Pick<SourceChoice, 'mayFallBack'>
  watchShortage: WatchShortage
  reporter: Reporter
}

/** A root that is a file is gone; or, where it was, something has happened on the way to it. */
export interface FileFinding {
  file: FileRoot
  what: 'lost' | 'may be back'
  /** Why it is lost. */
  reason: LostReason
}

/** The roots that are files, and their watches. */
export class FileRoots {
  readonly #parts: FileRootsParts
  readonly #mounts = new Map<FileRoot, WatchedMount>()
  /** What the path of each leads over, as it was seen last. */
  readonly #routes = new Map<FileRoot, readonly string[]>()
  #calls: SyscallThread | undefined

  constructor(parts: FileRootsParts) {
    this.#parts = parts
  }

  /** Watches a file, and says what is new about it. Rejects as it cannot be watched. */
  async attach(file: FileRoot, mount: WatchedMount): Promise<FileNews> {
    this.#mounts.set(file, mount)
    file.isMountPoint = await this.#parts.system.isMountPoint(file.path)
    // Before the look, so that nothing falls between the two.
    await this.#watch(file)
    if (mount.usesInotify) this.#parts.watchShortage.end()
    return await file.attach(this.#callsFor(mount))
  }

  /** Goes on with one that is watched, and that was seen behind its watches for the first time. */
  begin(file: FileRoot, mount: WatchedMount, entry: Entry): void {
    this.#mounts.set(file, mount)
    if (mount.usesInotify) this.#parts.watchShortage.end()
    file.begin(entry)
  }

  /** Whether it is another than when watch() was called: it has another watch. What has been done to the same one, events tell. */
  newsSince(file: FileRoot, { wd }: SeenBefore): FileNews {
    return this.#parts.ways.isOwn(file, wd) ? undefined : 'modify'
  }

  remove(file: FileRoot): void {
    this.#mounts.delete(file)
    this.#routes.delete(file)
    this.#parts.watches.retire(this.#parts.ways.set(file, []))
  }

  /** What events have for the roots that are files. */
  collect(batch: EventBatch, start: number, end: number): ReadonlyMap<FileRoot, Hint> {
    return this.#parts.ways.collect(batch, start, end, ABOUT_NAME | GONE)
  }

  /** What the events say is a hint to look. */
  async *take(hints: ReadonlyMap<FileRoot, Hint>): AsyncGenerator<FileFinding, void> {
    for (const [file, { own, all }] of hints) {
      const what = await this.#take(file, own, all)
      if (what === undefined) continue
      yield { file, what, reason: reasonOf(file, own, all) }
    }
  }

  async #take(file: FileRoot, own: number, all: number): Promise<FileFinding['what'] | undefined> {
    // What the path leads over may be another directory now, and the file another file.
    const mayBeOther = (all & (ABOUT_NAME | GONE)) !== 0
    if (mayBeOther) await this.#watchAgain(file)
    if (!file.isPresent) return 'may be back'
    if (mayBeOther) return await this.#look(file, own, own || all, 'inotify')
    // Where its directory may not be read, and it has another name still, IN_ATTRIB is all that tells that it has been replaced.
    return await this.#lookTwice(file, own, own || all, 'inotify')
  }

  /** Whether a poll looks at some of them. */
  get arePolled(): boolean {
    for (const { usesPolling } of this.#mounts.values()) if (usesPolling) return true
    return false
  }

  /** Looks at each, whatever was told of it. */
  async *lookAtAll(source: Source): AsyncGenerator<FileFinding, void> {
    for (const [file, { usesPolling }] of this.#mounts) {
      if (source === 'poll' && !usesPolling) continue
      const what = await this.#lookTwice(file, 0, 0, source)
      if (what !== undefined) yield { file, what, reason: file.reason }
    }
  }

  /**
   * Watches what is on the way to each now, and looks at it: events were lost.
   *
   * @param lostSince for each of which events were lost, since when: see {@link FileRoot.look}
   */
  async *reviewAll(lostSince: (file: FileRoot) => number | undefined): AsyncGenerator<FileFinding, void> {
    for (const [file, { usesPolling }] of this.#mounts) {
      const what = await this.#review(file, usesPolling, lostSince(file))
      if (what !== undefined) yield { file, what, reason: file.reason }
    }
  }

  /**
   * Likewise each whose way leads over one of these points, where mounts have come and gone. Those that polls look at as well are left to them, as what is
   * asked here in this thread might not answer.
   */
  async *onMounts(points: readonly string[]): AsyncGenerator<FileFinding, void> {
    for (const [file, { usesPolling }] of this.#mounts) {
      if (usesPolling || !this.isOnAny(file, points)) continue
      const what = await this.#review(file, false)
      if (what !== undefined) yield { file, what, reason: file.reason }
    }
  }

  /** Whether the way to it leads over one of these points. */
  isOnAny(file: FileRoot, points: Iterable<string>): boolean {
    const route = [file.path, ...(this.#routes.get(file) ?? [])]
    for (const point of points) if (route.some((path) => isWithin(path, point))) return true
    return false
  }

  /** One that is left waiting is left behind, which is said. */
  close(): void {
    const { unanswered = 0 } = this.#calls ?? {}
    const [file] = this.#mounts.keys()
    if (unanswered >= PATIENCE_MS && file !== undefined) warnOfAbandonedThread(file.path, unanswered)
    this.#calls?.end()
  }

  /** A mount that is polled may stop answering. */
  #callsFor(mount: WatchedMount | undefined): SyscallThread | undefined {
    if (mount?.usesPolling !== true) return undefined
    this.#calls ??= new SyscallThread()
    return this.#calls
  }

  async #review(file: FileRoot, usesPolling: boolean, since?: number): Promise<'lost' | undefined> {
    const isMountPoint = usesPolling ? file.isMountPoint : await this.#parts.system.isMountPoint(file.path)
    // What comes as a mount, and what is there again when that has gone, it tells itself.
    file.isMountPoint ||= isMountPoint
    await this.#watchAgain(file)
    const what = await this.#look(file, 0, 0, 'rescan', since)
    file.isMountPoint = isMountPoint
    return what
  }

  /** Of another file than before, the watch is that of the one before, if no event of its name has told: then it is watched, and looked at once more. */
  async #lookTwice(file: FileRoot, own: number, mask: number, source: Source): Promise<'lost' | undefined> {
    const { ino } = file
    const what = await this.#look(file, own, mask, source)
    if (what !== undefined || file.ino === ino || !this.#mounts.get(file)?.usesInotify) return what
    await this.#watchAgain(file)
    return await this.#look(file, 0, 0, source)
  }

  async #look(
    file: FileRoot,
    own: number,
    mask: number,
    source: Source,
    since?: number,
  ): Promise<'lost' | undefined> {
    const { coverings, reporter } = this.#parts
    const calls = this.#callsFor(this.#mounts.get(file))
    // When that fails it is as it was, for all that could be seen.
    const news = await file.look(own, calls, since).catch((error) => reporter.trouble(error))
    const { path, kind } = file
    if (news === 'lost') return news
    if (news && !coverings.tellsOf(file)) reporter.report([{ type: news, path, kind, mask, source }])
    return undefined
  }

  async #watchAgain(file: FileRoot): Promise<void> {
    await this.#watch(file).catch((error) => this.#onUnwatched(file, error))
  }

  /** Where no watch is left for its way, or it may not be read, which who may look at it needs not, it is polled, if that is ours to decide. */
  #onUnwatched(file: FileRoot, error: unknown): void {
    const { reporter, sourceChoice, watchShortage } = this.#parts
    const mount = this.#mounts.get(file)
    if (mount === undefined || !sourceChoice.mayFallBack) reporter.trouble(error)
    // What is lost is attached anew when it is there again, and that is when to say so.
    else if (!file.isPresent) return
    else if (isLimit(error)) watchShortage.note(pollInstead(mount, file.path, error))
    else if (isRefused(error)) reporter.trouble(pollInstead(mount, file.path, error))
    else reporter.trouble(error)
  }

  async #watch(file: FileRoot): Promise<void> {
    const { paths, ways, watches } = this.#parts
    const inotify = this.#parts.inotify.instance
    if (inotify === undefined || !this.#mounts.get(file)?.usesInotify) {
      watches.retire(ways.set(file, []))
      return
    }
    await paths.follow(file.path, (way) => {
      const along = watchWays(way, true, inotify)
      this.watchAlong(file, way, along, inotify)
      return along.watched
    })
  }

  /** Watches a file whose way is watched, as far as it could be. The answer: its own watch, if there is a file. Throws InotifyError where what is needed is refused. */
  watchAlong(
    file: FileRoot,
    way: Way,
    { watched, refused }: WatchedWay,
    inotify: Adding,
  ): number | undefined {
    const { ways, watches, paths } = this.#parts
    this.#routes.set(file, [way.path, ...turnsOf(way), way.realPath])
    const own = watchFile(file.path, inotify, paths.followsLast)
    // Whatever was refused: those that were added are known, and go with the file.
    watches.retire(ways.set(file, watched, typeof own === 'number' ? own : 0))
    if (typeof own === 'object') throw own
    if (refused !== undefined && isOutOfWatches(refused)) throw refused
    return own
  }
}

/** Why it is lost, by what a look has found, and by the events for which that was made: of the file itself, and of all on the way to it. */
function reasonOf({ reason }: FileRoot, own: number, all: number): LostReason {
  if (reason !== 'deleted') return reason
  if (own & IN_UNMOUNT) return 'unmounted'
  return own & IN_MOVE_SELF || all & IN_MOVED_FROM ? 'renamed' : 'deleted'
}
