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

/** Returns the number of descriptors that this process has open of the file at a path. */
export function descriptorsOf(path: string): number {
  return linksThat((target) => target === path)
}

/** Returns the number of descriptors that this process has open of a directory and of entries below. */
export function descriptorsBelow(directory: string): number {
  return linksThat((target) => target === directory || target.startsWith(`${directory}/`))
}

/** Returns the number of inotify instances of this process. */
export function openInstances(): number {
  return descriptorsOf('anon_inode:inotify')
}

/**
 * Returns the number of open descriptors of this process, without those of regular files: a sanitizer's
 * runtime opens its report at the first finding, and keeps it open.
 */
export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return !fstatSync(Number(fd)).isFile()
    } catch {
      return false // the descriptor of this very listing
    }
  }).length
}
