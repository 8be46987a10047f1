import { lstat, stat } from 'node:fs/promises'
import { IN_ATTRIB, IN_CLOSE_WRITE, IN_MODIFY } from '../../inotify/constants.ts'
import { placeOfPath, type ResolvedPath, resolvePath } from '../../mounts/syscalls/resolve_path.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import type { Settings } from '../options.ts'
import type { Kind, LostReason } from '../report/change.ts'
import { isMissing, isShortage } from '../report/watch_error.ts'
import { alterationOfFile, type Entry } from '../scan/entry.ts'
import { entryOf } from './file_entry.ts'

const CHUNK = 256 * 1024

/** The news of a file; undefined: nothing has changed. */
export type FileNews = 'create' | 'modify' | 'attrib' | 'lost' | undefined

type FileRootOptions = Pick<Settings, 'hash' | 'followRoots'>

/**
 * A root that is no directory. Only its state counts: whatever happens to the file or in a directory on
 * its way (a Kubernetes key leads over two symlinks) is a hint to look at what the path leads to now.
 */
export class FileRoot {
  readonly path: string
  readonly #asked: FileRootOptions
  isPresent = false
  /** True: the file is mounted by itself. */
  isMountPoint = false
  /** The reason why it is not there, as far as a look can tell. */
  reason: LostReason = 'deleted'
  /** The entry as it was seen last. Stays while the file is lost, to compare with what comes back. */
  entry: Entry | undefined
  // ms since the epoch: the time of the last comparison.
  #seenAt = Number.NEGATIVE_INFINITY

  constructor(path: string, asked: FileRootOptions) {
    this.path = path
    this.#asked = asked
  }

  get kind(): Kind {
    return this.entry?.kind ?? 'file'
  }

  /** Begins with an entry to which the path leads, as has been seen. */
  begin(entry: Entry): void {
    this.isPresent = true
    this.entry = entry
  }

  /** Looks at the file for the first time or after a loss (by `calls` where the path may not answer). After a loss only differences are news. */
  async attach(calls: SyscallThread | undefined): Promise<FileNews> {
    const before = this.entry
    const after = await this.#find(calls)
    if (after === undefined) return 'lost'
    return before === undefined ? 'create' : this.#alteration(before, after)
  }

  /**
   * Looks again. Rejects for want of memory or descriptors alone.
   *
   * @param mask the events of the file itself
   * @param since ms since the epoch: nobody may have told the changes from then on. Within a tick of the clock a file can be written again and
   *   look as it did.
   */
  async look(mask: number, calls: SyscallThread | undefined, since?: number): Promise<FileNews> {
    const before = this.entry
    if (before === undefined || !this.isPresent) return undefined
    const after = await this.#find(calls).catch((error) => {
      if (isShortage(error)) throw error
      // The path cannot be looked at any more (EACCES on the way).
      this.reason = 'unreadable'
      this.isPresent = false
    })
    if (after === undefined) return 'lost'
    if (mask & (IN_MODIFY | IN_CLOSE_WRITE)) return 'modify'
    return this.#alteration(before, after, since) ?? (mask & IN_ATTRIB ? 'attrib' : undefined)
  }

  #alteration(before: Entry, after: Entry, doubtedSince?: number): 'modify' | 'attrib' | undefined {
    const seenAt = this.#seenAt
    this.#seenAt = Date.now()
    return alterationOfFile(before, after, seenAt, doubtedSince)
  }

  async #find(calls: SyscallThread | undefined): Promise<Entry | undefined> {
    const entry = await this.#stat(calls)
    // The mount of a file that was replaced or deleted at its source never changes again. Elsewhere a file without names is what a cache still has, for now
    // (overlay, FUSE).
    const isStale = this.isMountPoint && entry?.stat?.nlink === 0 && entry.kind !== 'symlink'
    if (isStale) this.reason = 'stale'
    this.isPresent = entry !== undefined && !isStale
    if (this.isPresent) this.entry = entry
    return this.isPresent ? entry : undefined
  }

  async #stat(calls: SyscallThread | undefined): Promise<Entry | undefined> {
    try {
      const found = await (calls === undefined
        ? statHere(this.path, this.#asked)
        : statThere(calls, this.path, this.#asked))
      // A directory is another kind of root.
      if (found === undefined) this.reason = 'replaced'
      return found
    } catch (error) {
      if (!isMissing(error)) throw error
      this.reason = 'deleted'
      return undefined
    }
  }
}

/** Stats by libuv's pool: on a file system of this machine. */
async function statHere(path: string, { followRoots }: FileRootOptions): Promise<Entry | undefined> {
  const stats = await (followRoots ? stat : lstat)(path, { bigint: true })
  return entryOf(stats, stats.birthtimeNs)
}

/** Stats by a thread that may be kept waiting, and asks the server, whatever this kernel remembers. */
async function statThere(
  calls: SyscallThread,
  path: string,
  { hash, followRoots }: FileRootOptions,
): Promise<Entry | undefined> {
  const reached = await (followRoots ? resolvePath : placeOfPath)(calls, path)
  await using _ = reached.parent
  const { stat } = reached
  const entry = entryOf(stat, stat.btimeNs)
  if (!hash || entry?.stat === undefined || entry.kind !== 'file') return entry
  const content = await contentOf(reached)
  return content === undefined ? entry : { ...entry, stat: { ...entry.stat, content } }
}

/** Returns a hash of the contents. undefined: the file cannot be read, or is another by now, and is compared by its stat. */
async function contentOf({ parent, name, stat }: ResolvedPath): Promise<string | undefined> {
  try {
    await using file = await parent.file(name)
    if (file.opened.ino !== stat.ino || file.opened.dev !== stat.dev) return undefined
    // Loaded on demand: its 5 MiB of memory are for callers that ask for this.
    const { createHash } = await import('node:crypto')
    const hash = createHash('sha256')
    for (;;) {
      const chunk = await file.calls.read(file.fd, CHUNK)
      if (chunk.length === 0) return hash.digest('base64')
      hash.update(chunk)
    }
  } catch (error) {
    if (isShortage(error)) throw error
    return undefined
  }
}
