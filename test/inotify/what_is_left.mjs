import { readdirSync, readlinkSync } from 'node:fs'

export const threads = () => readdirSync('/proc/self/task').length

/** Returns the process's memory in MiB after a garbage collection (--expose-gc). */
export function memory() {
  globalThis.gc?.()
  return Math.round(process.memoryUsage.rss() / 2 ** 20)
}

/**
 * Returns the numbers of inotify descriptors, and of threads beyond the earlier ones.
 * @param {number} threadsBefore
 */
export function left(threadsBefore) {
  const fds = readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('anon_inode:inotify')
    } catch {
      return false
    }
  })
  return { fdsLeft: fds.length, threadsLeft: threads() - threadsBefore }
}
