import { Inotify, type InotifyOptions } from '../inotify/inotify.ts'
import type { Choice } from '../mounts/filesystems.ts'
import { mountOf } from '../mounts/mount_of.ts'
import { chooseForPath } from '../mounts/mounts_on_path.ts'
import { DIRECTORY_MASK } from './events/watch_mask.ts'

/** What a watcher asks of the system beside the directories themselves. */
export interface WatchSystem {
  /** The source for an existing path, by the mounts that it crosses. */
  choose(path: string): Promise<Choice>
  /** The type of the mount at a path, if it holds no files of anybody's but the kernel's own tables ('proc'). */
  pseudoType(path: string): Promise<string | undefined>
  /** What the watches of directories ask for. */
  readonly directoryMask: number
  openInotify(options: InotifyOptions): Inotify
}

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
  directoryMask: DIRECTORY_MASK,
  openInotify: (options) => new Inotify(options),
}
