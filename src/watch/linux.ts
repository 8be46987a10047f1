import { readFile, readlink, realpath } from 'node:fs/promises'
import { Inotify, nativeQueue } from '../inotify/inotify.ts'
import { isMountPoint, mountOf } from '../mounts/mount_of.ts'
import { MountWatch } from '../mounts/mount_watch.ts'
import { chooseForPath } from '../mounts/mounts_on_path.ts'
import { followUpToCircle, linkTarget, type ReadLink, type Resolved } from '../mounts/syscalls/symlinks.ts'
import { systemClock } from './clock.ts'
import { DIRECTORY_MASK } from './events/watch_mask.ts'
import { keysOf, pathOf, textOf } from './report/name_key.ts'
import { isShortage } from './report/watch_error.ts'
import { Walker } from './scan/walker.ts'
import type { WatchSystem } from './system.ts'
import { MOST_ENTRIES } from './tree/entry_cache.ts'

// Below a watched tree nobody means to have these polled: their entries are processes and devices.
const PSEUDO = new Set([
  'proc',
  'sysfs',
  'devpts',
  'debugfs',
  'tracefs',
  'securityfs',
  'configfs',
  'bpf',
  'pstore',
  'efivarfs',
  'binfmt_misc',
  'mqueue',
  'nsfs',
])

export const linux: WatchSystem = {
  choose: (path) => chooseForPath(path, lookUpMount, (each) => follow(each, targetOf)),
  pseudoType: async (path) => {
    const { type } = lookUpMount(path)
    return PSEUDO.has(type) ? type : undefined
  },
  isMountPoint: async (path) => isMountPoint(path),
  realpath: async (path) => keysOf(await realpath(pathOf(path), 'buffer')),
  // Of what is not there, or cannot be read, there is no telling that it is a link: so a path is resolved as far as it leads.
  followSymlinks: (path) => follow(path, (entry) => read(entry).catch(() => undefined)),
  watchMounts: (changed) => new MountWatch((points) => changed(points.map(keysOf))),
  directoryMask: DIRECTORY_MASK,
  openInotify: (options) => new Inotify(options),
  kernelWatches: async (inotify) => {
    try {
      const text = await readFile(`/proc/self/fdinfo/${inotify[nativeQueue].fd()}`, 'latin1')
      return new Set(
        [...text.matchAll(/^inotify wd:([0-9a-f]+) /gm)].map(([, wd]) => Number.parseInt(wd ?? '', 16)),
      )
    } catch (error) {
      if (isShortage(error)) throw error
      return undefined
    }
  },
  openWalker: () => new Walker(),
  clock: systemClock,
  entryCacheSize: MOST_ENTRIES,
}

const lookUpMount = (path: string) => mountOf(pathOf(path))

// What links say, and the paths that they lead to, are keys: they may be no UTF-8.
const read = async (entry: string) => keysOf(await readlink(pathOf(entry), 'buffer'))
const targetOf: ReadLink = (entry, path) => linkTarget(entry, textOf(path), read)

async function follow(path: string, readLink: ReadLink): Promise<Resolved> {
  // As a rule there are no links, and one call says so. What it fails with, the slow way tells as well.
  const real = await realpath(pathOf(path), 'buffer').catch(() => undefined)
  if (real !== undefined && keysOf(real) === path)
    return { realPath: path, linkDirectories: [], links: [], left: [] }
  return await followUpToCircle(path, readLink)
}
