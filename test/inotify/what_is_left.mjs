import { readdirSync, readlinkSync } from 'node:fs'

export const threads = () => readdirSync('/proc/self/task').length

/** The process's memory in MiB, once nobody waits for the collector (--expose-gc). */
export function memory() {
  globalThis.gc?.()
  return Math.round(process.memoryUsage.rss() / 2 ** 20)
}

/**
 * What of inotify's descriptors is there, and of threads beside those that there were.
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
