import { constants } from 'node:os'
import { InotifyError } from '../errors.ts'
import { requireProc } from '../mounts/proc.ts'
import { CallError } from '../mounts/syscalls/call_error.ts'
import { SyscallThread } from '../mounts/syscalls/syscall_thread.ts'

export const MOUNTED_FILE =
  'a single file is mounted here (subPath, docker -v file:file), and a mount point cannot be renamed: mount the directory'

const FULL = 'the file system is full: what was there is as it was'

const HINTS: ReadonlyMap<number, string> = new Map([
  [constants.errno.ENOSPC, FULL],
  [constants.errno.EDQUOT, FULL],
  [constants.errno.EROFS, 'the mount is read-only'],
  [
    constants.errno.EACCES,
    'a file is replaced in its directory: that takes write and search permission (wx) there',
  ],
  [
    constants.errno.EPERM,
    "the directory is sticky and the file somebody else's, one of them is immutable or append-only (lsattr), or a seccomp filter refuses the call",
  ],
  [constants.errno.EBUSY, MOUNTED_FILE],
  [constants.errno.ENOENT, 'the directory must exist'],
  [constants.errno.ENOTDIR, 'a component of the path that should be a directory is none'],
  [constants.errno.ELOOP, 'the symlinks of the path lead in a circle'],
  [constants.errno.ENAMETOOLONG, 'a name may have 255 bytes and a path 4095'],
  [constants.errno.ENOTCONN, 'the FUSE server behind the mount is gone: unmount it and mount it again'],
  [constants.errno.EIO, 'the disk or the server failed: whether what was written will last is not known'],
])

/** Names of calls that are not those of the manual pages. */
const SYSCALLS: Readonly<Record<string, string>> = {
  'open regular': 'open',
  openat2: 'open',
  'look up': 'linkat',
}

/** Awaits calls that are about a path, and says so if one fails. */
export async function about<T>(path: string, calls: Promise<T>, hint?: string): Promise<T> {
  try {
    return await calls
  } catch (error) {
    throw error instanceof CallError ? failure(-error.errno, error.syscall, path, hint) : error
  }
}

/** An error about a path; without a hint of its own it has that of its errno. */
export function failure(
  errno: number | keyof typeof constants.errno,
  syscall: string,
  path: string,
  hint?: string,
): InotifyError {
  const number = typeof errno === 'number' ? errno : constants.errno[errno]
  return new InotifyError({
    errno: number,
    syscall: SYSCALLS[syscall] ?? syscall,
    path,
    hint: hint ?? HINTS.get(number) ?? '',
  })
}

/** Runs with a thread for the system calls. What they open is closed at the end, with whatever locks it held. */
export async function withCalls<T>(path: string, run: (calls: SyscallThread) => Promise<T>): Promise<T> {
  requireProc()
  const calls = new SyscallThread()
  try {
    return await about(path, run(calls))
  } finally {
    calls.end()
  }
}
