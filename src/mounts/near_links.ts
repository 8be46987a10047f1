import { lstatSync, readlinkSync } from 'node:fs'
import { keysOf, pathOf } from '../name_key.ts'
import { NearMounts } from './near_mounts.ts'
import type { ReadLink } from './syscalls/symlinks.ts'

/**
 * Reads symlinks, of thousands at a time, in this thread where that waits for no server: in directories on mounts that only this kernel changes. There it is a
 * tenth of the work that handing it to libuv's threads is. Of what lies elsewhere `far` says what it is. undefined: there is none, or it cannot be read. Paths are keys: see name_key.ts.
 */
export function nearLinks(far: ReadLink): ReadLink {
  const near = new NearMounts()
  const isNear = (entry: string) => {
    try {
      return near.has(entry)
    } catch {
      return false
    }
  }
  return (entry, path) => {
    if (!isNear(entry)) return far(entry, path)
    const bytes = pathOf(entry)
    try {
      // Asks first, since readlink(2) fails on anything else, and errors are slow. The path itself is a symlink as a rule.
      if (entry !== path && !lstatSync(bytes).isSymbolicLink()) return undefined
      return keysOf(readlinkSync(bytes, 'buffer'))
    } catch {
      return undefined
    }
  }
}
