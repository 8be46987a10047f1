import { closeSync, openSync } from 'node:fs'
import { codeOf } from './syscalls/call_error.ts'

/**
 * Returns why no process can be started that is given /dev/null, and what to do; undefined where it can be opened. A root that somebody has put together may be
 * without it, and the error of spawn() names the program for it alone: libuv opens both in the child.
 */
export function devNullMissing(): string | undefined {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return undefined
  } catch (error) {
    const code = codeOf(error)
    const remedy =
      code === 'EACCES'
        ? 'chmod 666 /dev/null, and a mount without nodev'
        : 'mount a /dev in this root, or mknod -m 666 /dev/null c 1 3'
    return `${code}: /dev/null cannot be opened, and without it no program is started: ${remedy}`
  }
}
