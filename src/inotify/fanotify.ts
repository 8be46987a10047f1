import { invalidArgument } from '../errors.ts'
import { textOf } from '../name_key.ts'
import { type FanotifyEvent, FanotifySource } from './fanotify_source.ts'
import { BatchIterator } from './iterator.ts'

/**
 * Changes of whole file systems, each with the process that made it: fanotify(7) with one mark for a file system, which takes well under a millisecond however many directories there are,
 * and covers those that are made later. Needs Linux 5.9, CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH; ext4, xfs, tmpfs, btrfs (its top level) and others with file handles; not FUSE,
 * virtiofs or NFS.
 *
 * Events are hints of where to look: the kernel merges those of one process and name that nobody has read yet, their order is not promised, and paths are those at the time of reading.
 * Told are IN_CREATE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO, IN_MODIFY, IN_ATTRIB and IN_CLOSE_WRITE, with IN_ISDIR. What this process itself changes is left out: a consumer that
 * writes to the file system would feed itself.
 *
 * Keeps the process alive until {@link close}. Nothing keeps the file system from being unmounted.
 *
 * @example
 * ```js
 * import { Fanotify, formatMask, InotifyError } from 'inotify-bridge'
 *
 * const fanotify = new Fanotify()
 * try {
 *   fanotify.add('/tmp')
 *   setTimeout(() => fanotify.close(), 1000)
 *   for await (const events of fanotify) {
 *     for (const { path, mask, pid, comm } of events) console.log(pid, comm, formatMask(mask), path)
 *   }
 * } catch (error) {
 *   if (!(error instanceof InotifyError)) throw error
 *   console.log(error.code, error.hint) // EPERM without the rights
 * } finally {
 *   fanotify.close()
 * }
 * ```
 */
export class Fanotify implements AsyncIterable<FanotifyEvent[]>, AsyncDisposable {
  readonly #source: FanotifySource
  readonly #batches = new BatchIterator<FanotifyEvent[]>(
    () => this.#source.resume(),
    () => this.close(),
  )

  /**
   * Calls fanotify_init(2).
   *
   * @throws InotifyError: EPERM, ENOSYS, EINVAL (before Linux 5.9), EMFILE (fs.fanotify.max_user_groups, or the process's own limit of descriptors), ENFILE, ENOMEM
   * @throws AddonLoadError: there is no addon for this platform
   */
  constructor() {
    this.#source = new FanotifySource(
      (events) => this.#take(events),
      (error) => this.#batches.end({ error }),
      () => !this.#batches.full,
    )
  }

  /**
   * Marks the file system of a directory, all of it. Paths are told as the mount of `path` shows them: of a file system that is mounted twice, add both. The path that was added last of a mount must stay: best is where it is mounted.
   *
   * @throws InotifyError: EPERM, ENODEV (FUSE, virtiofs, NFS), ENOTSUP (overlay without nfs_export), EXDEV (a btrfs subvolume), ENOENT, ENOTDIR, EACCES, ENOMEM, EBADF (closed)
   * @throws TypeError: a NUL byte in the path
   */
  add(path: string | Buffer): void {
    if (!(typeof path === 'string' || Buffer.isBuffer(path)) || path.includes('\0'))
      throw invalidArgument('path', path, 'a string or a Buffer without a NUL byte')
    this.#source.add(path)
  }

  /** Ends it, with all marks. Idempotent. The iterator still hands out what it had received. */
  close(): void {
    this.#source.close()
    this.#batches.end()
  }

  /** Calls {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
  }

  /**
   * Gives what has been read, from `new` on, until {@link close}; leaving the loop closes it. While 16 arrays wait nothing is read, in the end to an overflow of the kernel's queue. There is one
   * iterator: loops at the same time share it. Rejects with the error by which events can no longer be read.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<FanotifyEvent[]> {
    return this.#batches
  }

  #take(events: FanotifyEvent[]): void {
    const others = events.filter(({ pid }) => pid !== process.pid)
    for (const event of others) if (event.path !== undefined) event.path = textOf(event.path)
    if (others.length > 0) this.#batches.push(others)
  }
}
