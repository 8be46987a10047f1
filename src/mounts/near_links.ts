import { lstatSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { keysOf, pathOf } from '../name_key.ts'
import { chooseBackend } from './filesystems.ts'
import { MountTable } from './mount_table.ts'
import type { ReadLink } from './syscalls/symlinks.ts'

/**
 * Reads symlinks, of thousands at a time, in this thread where that waits for no server: in directories on mounts that only this kernel changes. There it is a
 * tenth of the work that handing it to libuv's threads is. Of what lies elsewhere, or is a mount itself, `far` says what it is. undefined: there is none,
 * or it cannot be read. Paths are keys: see name_key.ts.
 */
export function nearLinks(far: ReadLink): ReadLink {
  const table = new MountTable()
  const points = new Set(table.points().map(keysOf))
  const directories = new Map<string, boolean>()
  const isNear = (entry: string) => {
    const directory = dirname(entry)
    const known = directories.get(directory)
    if (known !== undefined) return known
    const found = isOnNearMount(table, directory)
    directories.set(directory, found)
    return found
  }
  return (entry, path) => {
    if (points.has(entry) || !isNear(entry)) return far(entry, path)
    const bytes = pathOf(entry)
    try {
      // That it is none is an error, which takes longer than to ask before; but the path itself is one as a rule.
      if (entry !== path && !lstatSync(bytes).isSymbolicLink()) return undefined
      return keysOf(readlinkSync(bytes, 'buffer'))
    } catch {
      return undefined
    }
  }
}

function isOnNearMount(table: MountTable, directory: string): boolean {
  try {
    const mount = table.mountOf(pathOf(directory))
    return mount !== undefined && chooseBackend(mount).backend === 'inotify'
  } catch {
    return false
  }
}
