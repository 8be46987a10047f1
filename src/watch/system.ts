import { Inotify, type InotifyOptions } from '../inotify/inotify.ts'
import { chooseForPath } from '../mounts/crossed.ts'
import type { Backend } from '../mounts/filesystems.ts'

/** What a watcher asks of the system beside the directories themselves. */
export interface WatchSystem {
  /** The source for an existing path, by the mounts that it crosses. */
  choose(path: string): Promise<{ backend: Backend; why: string }>
  openInotify(options: InotifyOptions): Inotify
}

export const linux: WatchSystem = {
  choose: chooseForPath,
  openInotify: (options) => new Inotify(options),
}
