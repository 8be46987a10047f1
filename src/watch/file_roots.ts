import type { EventBatch } from '../inotify/batch.ts'
import { IN_IGNORED } from '../inotify/constants.ts'
import type { Inotify } from '../inotify/inotify.ts'
import type { Change, Source } from './change.ts'
import type { FileNews, FileRoot } from './file_root.ts'
import type { Territory } from './territory.ts'
import { ABOUT_NAME, GONE } from './watch_mask.ts'

export interface FileRootsParts {
  inotify(): Inotify | undefined
  /** Whether a directory has this watch too. */
  isWatchedElsewhere(wd: number): boolean
  report(changes: Change[]): void
  lost(file: FileRoot): void
  /** Something has happened on the way to one that is lost. */
  mayBeBack(file: FileRoot): Promise<void>
}

/** The roots that are files, and their watches. */
export class FileRoots {
  readonly #parts: FileRootsParts
  readonly #territories = new Map<FileRoot, Territory>()
  readonly #byWd = new Map<number, Set<FileRoot>>()

  constructor(parts: FileRootsParts) {
    this.#parts = parts
  }

  has(wd: number): boolean {
    return this.#byWd.has(wd)
  }

  /** Watches a file, and says what is new about it. Rejects as it cannot be watched. */
  async attach(file: FileRoot, territory: Territory): Promise<FileNews> {
    this.#territories.set(file, territory)
    const news = await file.attach()
    await this.#watch(file)
    return news
  }

  remove(file: FileRoot): void {
    this.#territories.delete(file)
    for (const wd of file.watches) this.#unmap(file, wd)
  }

  /** What the events say is a hint to look. */
  async take(batch: EventBatch, start: number, end: number): Promise<void> {
    if (this.#byWd.size === 0) return
    const hints = new Map<FileRoot, { own: number; all: number }>()
    for (let i = start; i < end; i++) {
      const [wd, mask] = [batch.wd(i), batch.mask(i)]
      for (const file of this.#byWd.get(wd) ?? []) {
        const isOwn = file.isOwn(wd)
        if (mask & IN_IGNORED) this.#unmap(file, wd)
        if (!isOwn && !(mask & (ABOUT_NAME | GONE))) continue
        const hint = hints.get(file) ?? { own: 0, all: 0 }
        hints.set(file, { own: isOwn ? hint.own | mask : hint.own, all: hint.all | mask })
      }
    }
    for (const [file, { own, all }] of hints) {
      if (!file.isPresent) await this.#parts.mayBeBack(file)
      else {
        this.#tell(file, await file.look(own), own || all, 'inotify')
        // What the path leads over may be another directory now, and the file another file.
        if (all & (ABOUT_NAME | GONE)) await this.#watch(file)
      }
    }
  }

  /** Looks at each, whatever was told of it. */
  async lookAtAll(source: Source): Promise<void> {
    for (const [file, { isPolled }] of this.#territories) {
      if (source !== 'poll' || isPolled) this.#tell(file, await file.look(0), 0, source)
    }
  }

  #tell(file: FileRoot, news: FileNews, mask: number, source: Source): void {
    const { path, kind } = file
    if (news === 'lost') this.#parts.lost(file)
    else if (news !== undefined) this.#parts.report([{ type: news, path, kind, mask, source }])
  }

  async #watch(file: FileRoot): Promise<void> {
    const inotify = this.#parts.inotify()
    if (inotify === undefined || !this.#territories.get(file)?.isWatched) return
    const before = file.watches
    await file.watch(inotify)
    for (const wd of before) if (!file.watches.has(wd)) this.#unmap(file, wd)
    for (const wd of file.watches) {
      const files = this.#byWd.get(wd)
      if (files === undefined) this.#byWd.set(wd, new Set([file]))
      else files.add(file)
    }
  }

  #unmap(file: FileRoot, wd: number): void {
    file.loseWatch(wd)
    const files = this.#byWd.get(wd)
    files?.delete(file)
    if (files === undefined || files.size > 0) return
    this.#byWd.delete(wd)
    if (this.#parts.isWatchedElsewhere(wd)) return
    try {
      this.#parts.inotify()?.remove(wd)
    } catch {
      // EINVAL: the kernel has removed it.
    }
  }
}
