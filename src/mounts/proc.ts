import { existsSync } from 'node:fs'
import { InotifyError } from '../errors.ts'

let isThere = false

/**
 * Throws InotifyError if /proc is not mounted, as in a root that somebody has put together. Held files are opened, or given their mode, by paths of
 * /proc/self/fd, whatever their names stand for by now. Callers check first: each such call would say that the file is missing.
 */
export function requireProc(): void {
  isThere ||= existsSync('/proc/self/fd')
  if (isThere) return
  const hint =
    'procfs is not mounted at /proc in this root, and by it is reached what is held open: mount -t proc proc /proc'
  throw new InotifyError({ errno: 'ENOENT', syscall: 'open', path: '/proc/self/fd', hint })
}
