import { fstatSync, readdirSync, readlinkSync } from 'node:fs'

function linksThat(fits: (target: string) => boolean): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return fits(readlinkSync(`/proc/self/fd/${fd}`))
    } catch {
      return false // the descriptor of this very listing
    }
  }).length
}

/** How many descriptors of what is at a path this process has open. */
export function descriptorsOf(path: string): number {
  return linksThat((target) => target === path)
}

/** How many descriptors of a directory and of what lies below it this process has open. */
export function descriptorsBelow(directory: string): number {
  return linksThat((target) => target === directory || target.startsWith(`${directory}/`))
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
