import type { EventBatch } from '../../inotify/batch.ts'
import { warnOfAbandonedThread } from '../../mounts/syscalls/abandoned_thread.ts'
import { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import { ABOUT_NAME, GONE } from '../events/watch_mask.ts'
import type { WatchRelease } from '../events/watch_release.ts'
import type { Source } from '../report/change.ts'
import type { Reporter } from '../report/reporter.ts'
import { isLimit } from '../report/watch_error.ts'
import type { WatchShortage } from '../report/watch_shortage.ts'
import type { SourceChoice } from '../source_choice.ts'
import type { WatchSystem } from '../system.ts'
import type { WatchedMount } from '../tree/directory.ts'
import type { FileNews, FileRoot } from './file_root.ts'
import type { Coverings } from './forest/covering.ts'
import type { Hint, PathWatches } from './path_watches.ts'
import { isOutOfWatches, pollInstead, watchFile, watchWays, wayOf } from './ways.ts'

/** ms without an answer after which a thread is not waited for. */
const PATIENCE_MS = 500

export interface FileRootsParts {
  system: WatchSystem
  inotify: Pick<InotifySource, 'instance'>
  /** What tells that a file may be another: see ways.ts. */
  ways: PathWatches<FileRoot>
  watches: WatchRelease
  coverings: Coverings
  sourceChoice: Pick<SourceChoice, 'mayFallBack'>
  watchShortage: WatchShortage
  reporter: Reporter
}

/** A root that is a file is gone; or, where it was, something has happened on the way to it. */
export interface FileFinding {
  file: FileRoot
  what: 'lost' | 'stale' | 'may be back'
}

/** The roots that are files, and their watches. */
export class FileRoots {
  readonly #parts: FileRootsParts
  readonly #mounts = new Map<FileRoot, WatchedMount>()
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

  remove(file: FileRoot): void {
    this.#mounts.delete(file)
    this.#parts.watches.retire(this.#parts.ways.set(file, []))
  }

  /** What events have for the roots that are files. */
  collect(batch: EventBatch, start: number, end: number): ReadonlyMap<FileRoot, Hint> {
    return this.#parts.ways.collect(batch, start, end, ABOUT_NAME | GONE)
  }

  /** What the events say is a hint to look. */
  async *take(hints: ReadonlyMap<FileRoot, Hint>): AsyncGenerator<FileFinding, void> {
    for (const [file, { own, all }] of hints) {
      // What the path leads over may be another directory now, and the file another file.
      if (all & (ABOUT_NAME | GONE)) await this.#watchAgain(file)
      const what = file.isPresent ? await this.#look(file, own, own || all, 'inotify') : 'may be back'
      if (what !== undefined) yield { file, what }
    }
  }

  /** Whether a poll looks at some of them. */
  get arePolled(): boolean {
    for (const { usesPolling } of this.#mounts.values()) if (usesPolling) return true
    return false
  }

  /** Looks at each, whatever was told of it. */
  async *lookAtAll(source: Source): AsyncGenerator<FileFinding, void> {
    for (const [file, { usesInotify, usesPolling }] of this.#mounts) {
      if (source === 'poll' && !usesPolling) continue
      const { ino } = file
      let what = await this.#look(file, 0, 0, source)
      if (usesInotify && what === undefined && file.ino !== ino) {
        // Of another file, nobody may have told; then its watch is that of the one before.
        await this.#watchAgain(file)
        what = await this.#look(file, 0, 0, source)
      }
      if (what !== undefined) yield { file, what }
    }
  }

  /**
   * Watches what is on the way to each now, and looks at it: events were lost, or mounts have come and gone.
   *
   * @param since see {@link FileRoot.look}
   */
  async *reviewAll(since?: number): AsyncGenerator<FileFinding, void> {
    for (const [file, { usesInotify, usesPolling }] of this.#mounts) {
      // Where polls look as well, they tell; and what is asked here in this thread might not answer.
      const isMountPoint = usesPolling ? file.isMountPoint : await this.#parts.system.isMountPoint(file.path)
      // What comes as a mount, and what is there again when that has gone, it tells itself.
      file.isMountPoint ||= isMountPoint
      await this.#watchAgain(file)
      // Of what is polled alone, no event was lost.
      const what = await this.#look(file, 0, 0, 'rescan', usesInotify ? since : undefined)
      file.isMountPoint = isMountPoint
      if (what !== undefined) yield { file, what }
    }
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

  async #look(
    file: FileRoot,
    own: number,
    mask: number,
    source: Source,
    since?: number,
  ): Promise<'lost' | 'stale' | undefined> {
    const { coverings, reporter } = this.#parts
    const calls = this.#callsFor(this.#mounts.get(file))
    // When that fails it is as it was, for all that could be seen.
    const news = await file.look(own, calls, since).catch((error) => reporter.trouble(error))
    const { path, kind } = file
    if (news === 'lost' || news === 'stale') return news
    if (news && !coverings.tellsOf(file)) reporter.report([{ type: news, path, kind, mask, source }])
    return undefined
  }

  async #watchAgain(file: FileRoot): Promise<void> {
    await this.#watch(file).catch((error) => this.#onUnwatched(file, error))
  }

  /** Where no watch is left for its way, it is polled, if that is ours to decide. */
  #onUnwatched(file: FileRoot, error: unknown): void {
    const { reporter, sourceChoice, watchShortage } = this.#parts
    const mount = this.#mounts.get(file)
    if (mount === undefined || !isLimit(error) || !sourceChoice.mayFallBack) reporter.trouble(error)
    else watchShortage.note(pollInstead(mount, file.path, error))
  }

  async #watch(file: FileRoot): Promise<void> {
    const { system, ways, watches } = this.#parts
    const inotify = this.#parts.inotify.instance
    if (inotify === undefined || !this.#mounts.get(file)?.usesInotify) {
      watches.retire(ways.set(file, []))
      return
    }
    const { watched, refused } = watchWays(await wayOf(file.path, system), true, inotify)
    const own = watchFile(file.path, inotify)
    // Whatever was refused: those that were added are known, and go with the file.
    watches.retire(ways.set(file, watched, typeof own === 'number' ? own : 0))
    if (typeof own === 'object') throw own
    if (refused !== undefined && isOutOfWatches(refused)) throw refused
  }
}
