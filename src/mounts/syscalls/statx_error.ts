import { constants } from 'node:os'
import { InotifyError } from '../../errors.ts'

const HINTS: ReadonlyMap<number, string> = new Map([
  [constants.errno.ENOENT, 'no such path, or a symlink on the way that leads nowhere'],
  [constants.errno.EACCES, 'search permission (x) is needed on every directory of the path'],
  [constants.errno.ENOTDIR, 'a component of the path that should be a directory is none'],
  [constants.errno.ELOOP, 'the symlinks of the path lead in a circle'],
  [constants.errno.ENAMETOOLONG, 'a name may have 255 bytes and a path 4095'],
  [constants.errno.ESTALE, 'the server or lower layer no longer knows this file: mount it again'],
  [constants.errno.ENOTCONN, 'the FUSE server behind the mount is gone: unmount it and mount it again'],
])

/** Returns the error for a path that cannot be reached, in the shape of statx(2)'s failure. */
export function statxError(errno: number, path: string | Buffer, hint = hintOfStatx(errno)): InotifyError {
  return new InotifyError({ errno, syscall: 'statx', path, hint })
}

/** Returns the likely cause in one sentence, '' for an errno that is not usual. */
export function hintOfStatx(errno: number): string {
  return HINTS.get(errno) ?? ''
}

/**
 * Returns the same for an error of node:fs: the caller asked about a path, and need not know which of several calls failed. Returns any
 * other error as it is.
 */
export function asStatxError(error: unknown, path: string | Buffer): unknown {
  const errno = errnoOf(error)
  return errno === undefined ? error : statxError(errno, path)
}

/** Returns the positive errno of an error of node:fs. */
export function errnoOf(error: unknown): number | undefined {
  return error instanceof Error && 'errno' in error && typeof error.errno === 'number'
    ? -error.errno
    : undefined
}
