import type { Backend } from '../../mounts/filesystems.ts'

/**
 * The source of the changes of a root, of a mount below one, or of a followed link to a directory; and the paths that are not watched as chosen: see {@link Watcher.coverage}.
 *
 * Errors in `uncovered`:
 * - ENOENT, ENOTDIR: the root is not there yet.
 * - EACCES: a directory that cannot be read; it is tried again when its mode changes. Or one that may be read and not watched (SELinux): polled with `'auto'`.
 * - EIO, ENOTCONN, ESTALE, ETIMEDOUT, EHOSTUNREACH, ECONNABORTED, ENFILE, ENOMEM: a directory that cannot be read just now; it is tried again every half second.
 * - ENAMETOOLONG: a directory whose path has more than 16,384 bytes, and everything below it.
 * - ENOSPC: no watch is left for a directory. EMFILE: no inotify instance is left, or no descriptor. Polled with `'auto'`.
 * - ELOOP: a symlink to a directory behind three others that are followed: it is a link, and not followed.
 * - ENOTSUP: a mount of proc, sysfs or the like below a root: not watched. As a root of its own it is polled.
 *
 * @example
 * ```js
 * import { watch } from 'inotify-bridge'
 *
 * const watcher = watch('/tmp', { recursive: true })
 * await watcher.ready
 * console.log(watcher.coverage())
 * await watcher.close()
 * ```
 */
export interface Coverage {
  /** The path at which it begins: the root, the mount point, or the link. */
  path: string
  /** The source in use. */
  backend: Backend
  /** One sentence: what the type of the mount delivers, or who decided otherwise. */
  why: string
  /** ms after which a change has been told where polls tell of it, as long as they take no longer than lately; absent where events do. */
  latency?: number
  /** Directories that are watched or polled; 0 while the root is lost, and for a file. */
  directories: number
  /** The paths that could not be watched as chosen, each with its error. */
  uncovered: Array<{ path: string; error: Error }>
}
