import { readdirSync, readlinkSync } from 'node:fs'

/** How many inotify instances this process has open. */
export function openInstances(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === 'anon_inode:inotify'
    } catch {
      return false // the descriptor of this very listing
    }
  }).length
}
