import { Inotify, type InotifyOptions } from '../inotify/inotify.ts'
import { type Backend, chooseBackend } from '../mounts/filesystems.ts'
import { mountOf } from '../mounts/mount_of.ts'

/** What a watcher asks of the system beside the directories themselves. */
export interface WatchSystem {
  /** The source for an existing path, by its mount. */
  choose(path: string): { backend: Backend; why: string }
  openInotify(options: InotifyOptions): Inotify
}

export const linux: WatchSystem = {
  choose: (path) => chooseBackend(mountOf(path)),
  openInotify: (options) => new Inotify(options),
}
