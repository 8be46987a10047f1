import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { IN_ATTRIB, IN_CLOSE_WRITE, IN_MODIFY } from '../inotify/constants.ts'
import type { Inotify } from '../inotify/inotify.ts'
import { followSymlinks } from '../mounts/symlinks.ts'
import type { Kind } from './change.ts'
import { alteration, type Entry } from './entries.ts'
import { codeOf } from './watch_error.ts'
import { DIRECTORY_MASK, FILE_MASK } from './watch_mask.ts'

/** What has become of a file; undefined: nothing. */
export type FileNews = 'create' | 'modify' | 'attrib' | 'lost' | undefined

/**
 * A root that is no directory. It is a matter of state alone: whatever happens to the file or in a directory on the way to it (a
 * Kubernetes key leads over two symlinks) is a hint to look at what the path leads to now.
 */
export class FileRoot {
  readonly path: string
  isPresent = false
  // Stays while it is lost, to compare with what comes back.
  #entry: Entry | undefined
  // The watches: of the file itself, and of the directories that decide what the path means.
  #own = 0
  #ways = new Set<number>()

  constructor(path: string) {
    this.path = path
  }

  get kind(): Kind {
    return this.#entry?.kind ?? 'file'
  }

  get watches(): ReadonlySet<number> {
    return this.#own > 0 ? new Set([...this.#ways, this.#own]) : this.#ways
  }

  isOwn(wd: number): boolean {
    return wd === this.#own
  }

  loseWatch(wd: number): void {
    this.#ways.delete(wd)
    if (wd === this.#own) this.#own = 0
  }

  /**
   * Adds the watches that are missing. Throws InotifyError: as inotify_add_watch(2). Those of directories have the mask that the
   * tree's have, since one inode has one watch.
   */
  async watch(inotify: Inotify): Promise<void> {
    const ways = new Set<number>()
    for (const directory of await this.#directories()) {
      try {
        ways.add(inotify.add(directory, DIRECTORY_MASK))
      } catch (error) {
        // A directory that may be searched and not read: the file's own watch must do.
        if (codeOf(error) !== 'EACCES' && codeOf(error) !== 'ENOENT') throw error
      }
    }
    this.#ways = ways
    this.#own = !this.isPresent ? 0 : inotify.add(this.path, FILE_MASK)
  }

  /** Looks at what the path leads to, for the first time or after it was lost; then only what differs from before is news. */
  async attach(): Promise<FileNews> {
    const after = await this.#stat()
    this.isPresent = after !== undefined
    if (after === undefined) return 'lost'
    const before = this.#entry
    this.#entry = after
    return before === undefined ? 'create' : inFile(alteration(before, after, 0))
  }

  /** Looks again. `mask`: what an event has told of the file itself. */
  async look(mask: number): Promise<FileNews> {
    const before = this.#entry
    if (before === undefined || !this.isPresent) return undefined
    const after = await this.#stat()
    this.isPresent = after !== undefined
    if (after === undefined) return 'lost'
    this.#entry = after
    if (mask & (IN_MODIFY | IN_CLOSE_WRITE)) return 'modify'
    return inFile(alteration(before, after, 0)) ?? (mask & IN_ATTRIB ? 'attrib' : undefined)
  }

  async #stat(): Promise<Entry | undefined> {
    try {
      const stats = await stat(this.path, { bigint: true })
      // A directory is another kind of root.
      if (stats.isDirectory()) return undefined
      return {
        kind: stats.isFile() ? 'file' : 'other',
        ino: fold(stats.ino),
        stat: {
          mode: Number(stats.mode),
          uid: Number(stats.uid),
          gid: Number(stats.gid),
          nlink: Number(stats.nlink),
          size: Number(stats.size),
          mtime: fold(stats.mtimeNs),
          ctime: fold(stats.ctimeNs),
          ctimeMs: Number(stats.ctimeMs),
          btimeMs: Number(stats.birthtimeMs),
        },
      }
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error) ?? '')) return undefined
      throw error
    }
  }

  /** Those of each symlink on the way, and the file's. */
  async #directories(): Promise<string[]> {
    try {
      const { realPath, linkDirectories } = await followSymlinks(this.path)
      return [...new Set([dirname(this.path), ...linkDirectories, dirname(realPath)])]
    } catch {
      return [dirname(this.path)]
    }
  }
}

function fold(value: bigint): number {
  return Number(BigInt.asUintN(53, value ^ (BigInt.asUintN(64, value) >> 53n)))
}

/** Another file in its place is other content. */
function inFile(altered: ReturnType<typeof alteration>): 'modify' | 'attrib' | undefined {
  return altered === 'replace' ? 'modify' : altered
}
