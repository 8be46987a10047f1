import { existsSync } from 'node:fs'
import { InotifyError } from '../errors.ts'

let isThere = false

/**
 * What is held open is opened, or given its mode, by a path of /proc/self/fd, whatever its name stands for by now. A root that somebody has put together may be
 * without it: that is said before anything is done, since each such call would say that the file is not there. Throws InotifyError.
 */
export function requireProc(): void {
  isThere ||= existsSync('/proc/self/fd')
  if (isThere) return
  const hint =
    'procfs is not mounted at /proc in this root, and by it is reached what is held open: mount -t proc proc /proc'
  throw new InotifyError({ errno: 'ENOENT', syscall: 'open', path: '/proc/self/fd', hint })
}
