import type { EventBatch } from '../../inotify/batch.ts'
import { warnOfAbandonedThread } from '../../mounts/syscalls/abandoned_thread.ts'
import { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { ABOUT_NAME, GONE } from '../events/watch_mask.ts'
import type { InotifyInstance } from '../inotify_instance.ts'
import type { Change, Source } from '../report/change.ts'
import type { WatchSystem } from '../system.ts'
import type { WatchedMount } from '../tree/directory.ts'
import type { Coverings } from './covering.ts'
import type { FileNews, FileRoot } from './file_root.ts'
import { PathWatches } from './path_watches.ts'
import { isOutOfWatches, watchFile, watchWays, wayOf } from './ways.ts'

/** ms without an answer after which a thread is not waited for. */
const PATIENCE_MS = 500

export interface FileRootsParts {
  system: WatchSystem
  inotify(): InotifyInstance | undefined
  /** Removes watches that no file needs any more, unless a directory has them. */
  retire(wds: Iterable<number>): void
  report(changes: Change[]): void
  coverings: Coverings
  lost(file: FileRoot, how: 'lost' | 'stale', source: Source): void
  /** It is as it was, for all that could be seen. */
  trouble(error: unknown): void
  /** Something has happened on the way to one that is lost. */
  mayBeBack(file: FileRoot): Promise<void>
}

/** The roots that are files, and their watches. */
export class FileRoots {
  readonly #parts: FileRootsParts
  readonly #mounts = new Map<FileRoot, WatchedMount>()
  readonly #hints = new PathWatches<FileRoot>()
  #calls: SyscallThread | undefined

  constructor(parts: FileRootsParts) {
    this.#parts = parts
  }

  has(wd: number): boolean {
    return this.#hints.has(wd)
  }

  /** Watches a file, and says what is new about it. Rejects as it cannot be watched. */
  async attach(file: FileRoot, mount: WatchedMount): Promise<FileNews> {
    this.#mounts.set(file, mount)
    file.isMountPoint = await this.#parts.system.isMountPoint(file.path)
    // Before the look, so that nothing falls between the two.
    await this.#watch(file)
    return await file.attach(this.#callsFor(mount))
  }

  remove(file: FileRoot): void {
    this.#mounts.delete(file)
    this.#parts.retire(this.#hints.set(file, []))
  }

  /** What the events say is a hint to look. */
  async take(batch: EventBatch, start: number, end: number): Promise<void> {
    for (const [file, { own, all }] of this.#hints.collect(batch, start, end, ABOUT_NAME | GONE)) {
      // What the path leads over may be another directory now, and the file another file.
      if (all & (ABOUT_NAME | GONE)) await this.#watch(file).catch(this.#parts.trouble)
      if (file.isPresent) await this.#look(file, own, own || all, 'inotify')
      else await this.#parts.mayBeBack(file)
    }
  }

  /** Whether a poll looks at some of them. */
  get arePolled(): boolean {
    for (const { usesPolling } of this.#mounts.values()) if (usesPolling) return true
    return false
  }

  /** Looks at each, whatever was told of it. */
  async lookAtAll(source: Source): Promise<void> {
    for (const [file, { usesPolling }] of this.#mounts) {
      if (source !== 'poll' || usesPolling) await this.#look(file, 0, 0, source)
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

  async #look(file: FileRoot, own: number, mask: number, source: Source): Promise<void> {
    const calls = this.#callsFor(this.#mounts.get(file))
    const news = await file.look(own, calls).catch(this.#parts.trouble)
    const { path, kind } = file
    if (news === 'lost' || news === 'stale') this.#parts.lost(file, news, source)
    else if (news && !this.#parts.coverings.tellsOf(file))
      this.#parts.report([{ type: news, path, kind, mask, source }])
  }

  async #watch(file: FileRoot): Promise<void> {
    const inotify = this.#parts.inotify()
    if (inotify === undefined || !this.#mounts.get(file)?.usesInotify) {
      this.#parts.retire(this.#hints.set(file, []))
      return
    }
    const { watched, refused } = watchWays(await wayOf(file.path, this.#parts.system), true, inotify)
    const own = watchFile(file.path, inotify)
    // Whatever was refused: those that were added are known, and go with the file.
    this.#parts.retire(this.#hints.set(file, watched, typeof own === 'number' ? own : 0))
    if (typeof own === 'object') throw own
    if (refused !== undefined && isOutOfWatches(refused)) throw refused
  }
}
