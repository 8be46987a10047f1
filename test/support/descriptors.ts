import { fstatSync, readdirSync, readlinkSync } from 'node:fs'

/** How many descriptors of what is at a path this process has open. */
export function descriptorsOf(path: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path
    } catch {
      return false // the descriptor of this very listing
    }
  }).length
}

/** How many inotify instances this process has open. */
export function openInstances(): number {
  return descriptorsOf('anon_inode:inotify')
}

/** How many descriptors this process has open. But for regular files: a sanitizer's runtime opens its report at the first finding, and keeps it. */
export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return !fstatSync(Number(fd)).isFile()
    } catch {
      return false // the descriptor of this very listing
    }
  }).length
}
