import { readFile, realpath } from 'node:fs/promises'
import { Inotify, nativeQueue } from '../inotify/inotify.ts'
import { isMountPoint, mountOf } from '../mounts/mount_of.ts'
import { MountWatch } from '../mounts/mount_watch.ts'
import { chooseForPath } from '../mounts/mounts_on_path.ts'
import { followSymlinks, linkTargetIfAny } from '../mounts/syscalls/symlinks.ts'
import { systemClock } from './clock.ts'
import { DIRECTORY_MASK } from './events/watch_mask.ts'
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
  choose: chooseForPath,
  pseudoType: async (path) => {
    const { type } = mountOf(path)
    return PSEUDO.has(type) ? type : undefined
  },
  isMountPoint: async (path) => isMountPoint(path),
  realpath: (path) => realpath(path),
  followSymlinks: (path) => followSymlinks(path, linkTargetIfAny),
  watchMounts: (changed) => new MountWatch(changed),
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
