import { constants } from 'node:os'
import { InotifyError } from '../../errors.ts'

const HINTS: Readonly<Record<string, string>> = {
  ENOENT: 'there is nothing yet; it is watched when it comes',
  ENOTDIR: 'a file is where a directory should be on the way to it; it is watched when it comes',
  ELOOP: 'the symlinks of the path lead in a circle; it is watched when they lead somewhere',
  ENAMETOOLONG: 'a name has at most 255 bytes, a path 4095',
  EACCES: 'read and search permission are needed to list and watch a directory',
}

/** Returns the reason why a root cannot be watched: a system call's error, with the root's path in place of the descriptor's. */
export function asWatchError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('errno' in error) || typeof error.errno !== 'number') return error
  const known = error instanceof InotifyError ? error : undefined
  // A watch that is refused at an existing path has its own hint, which says more.
  const own = known?.syscall.startsWith('inotify_') && !isMissing(error) ? known.hint : ''
  const hint = own || HINTS[codeOf(error) ?? ''] || (known?.hint ?? '')
  return new InotifyError({ errno: -error.errno, syscall: known?.syscall ?? 'watch', path, hint })
}

/** Returns the error of a root that cannot be opened or listed. `error`: -errno. */
export function openError(error: number, path: string): InotifyError {
  return new InotifyError({ errno: -error, syscall: 'open', path })
}

/** Returns true if no watch or no inotify instance is left. */
export function isLimit(error: unknown): error is InotifyError {
  return error instanceof InotifyError && (error.code === 'ENOSPC' || error.code === 'EMFILE')
}

/** Returns true if this process's user may not read it. */
export function isRefused(error: unknown): error is InotifyError {
  return error instanceof InotifyError && error.code === 'EACCES'
}

/** Returns true if there is nothing at the path, or no way to it. */
export function isAbsence(error: unknown): boolean {
  return isMissing(error) || codeOf(error) === 'ESTALE'
}

/** Returns true as {@link isAbsence}, but for ESTALE: a server says that, and may take it back by itself. */
export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error) ?? '')
}

const SHORTAGES = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'] as const
const CODES = new Set<string>(SHORTAGES)
const ERRNOS = new Set<number>(SHORTAGES.map((code) => constants.errno[code]))

/** Returns true if the process or the system is out of something: that says nothing of the path. */
export function isShortage(error: unknown): boolean {
  return CODES.has(codeOf(error) ?? '')
}

/** {@link isShortage}, of an errno. */
export function isShortageErrno(errno: number): boolean {
  return ERRNOS.has(errno)
}

const PASSING = new Set<number>(
  (['EIO', 'ESTALE', 'ENOTCONN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ECONNABORTED'] as const).map(
    (code) => constants.errno[code],
  ),
)

/** Returns true if the failed call may work again by itself, and no event tells when: a server or a disk in trouble, or a shortage. */
export function mayPass(errno: number): boolean {
  return PASSING.has(errno) || isShortageErrno(errno)
}

/** {@link mayPass}, of an error. */
export function isPassing(error: unknown): boolean {
  return error instanceof InotifyError && mayPass(-error.errno)
}

const STALE_MOUNT =
  "a stale single-file mount (Kubernetes' subPath, docker -v file): its source was replaced or deleted, and nothing will change here any more; " +
  "restart the container, and mount the directory instead ('inotify-bridge diagnose' has the lines)"

/** Returns the error of a root that is a file that has no name any more. */
export function staleMountError(path: string): InotifyError {
  return new InotifyError({ errno: 'ESTALE', syscall: 'watch', path, hint: STALE_MOUNT })
}

/** Returns true for {@link staleMountError}; a server's ESTALE is another error. */
export function isStaleMount(error: unknown): error is InotifyError {
  return error instanceof InotifyError && error.hint === STALE_MOUNT
}

/**
 * The longest path of a directory that is gone into, in bytes, as in native/scan/dir_reader.cc: four times
 * PATH_MAX. The kernel knows no bound, and the paths of nested directories add up to the square of their number.
 */
export const LONGEST_PATH = 16_384

export const TOO_DEEP = `what lies in it is not watched: the path of a directory may have ${LONGEST_PATH} bytes, and 4095 to a link that is followed`

/**
 * The most symlinks that are followed on the way from a root to a directory. Else directories with links to each
 * other would have as many places as there are orders of them. Only the way counts, so that each scan says the same.
 */
export const MOST_LINKS = 3

/** Returns the error of a symlink to a directory that lies behind {@link MOST_LINKS} others. */
export function linksError(path: string): InotifyError {
  const hint = `it lies behind ${MOST_LINKS} followed symlinks, and is not followed: watch it as a root of its own`
  return new InotifyError({ errno: 'ELOOP', syscall: 'watch', path, hint })
}

export function closedError(hint = 'this watcher is closed'): InotifyError {
  return new InotifyError({ errno: 'EBADF', syscall: 'watch', hint })
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
