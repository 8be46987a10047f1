import { Inotify } from '../../../src/index.ts'
import { linux } from '../../../src/watch/linux.ts'
import type { WatchSystem } from '../../../src/watch/system.ts'

/** A system that says what it is asked, before it answers and, where that takes time, when it has. */
export function observed(step: (question: string, size: number) => void): Partial<WatchSystem> {
  const around = async <T>(question: string, size: number, ask: () => Promise<T>) => {
    step(question, size)
    const answer = await ask()
    step(`${question} answered`, size)
    return answer
  }
  return {
    choose: (path) => around('choose', 1, () => linux.choose(path)),
    isMountPoint: (path) => around('isMountPoint', 1, () => linux.isMountPoint(path)),
    realpath: (path) => around('realpath', 1, () => linux.realpath(path)),
    followSymlinks: (path) => around('followSymlinks', 1, () => linux.followSymlinks(path)),
    followTogether: (paths) => around('followTogether', paths.length, () => linux.followTogether(paths)),
    survey: (paths) => around('survey', paths.length, () => linux.survey(paths)),
    openWalker: () => {
      const walker = linux.openWalker()
      const walk = walker.walk.bind(walker)
      walker.walk = (requests, ...rest) => around('walk', requests.length, () => walk(requests, ...rest))
      return walker
    },
    openInotify: (options) => {
      const inotify = new Inotify(options)
      const add = inotify.add.bind(inotify)
      inotify.add = (path, mask) => {
        step('add', 1)
        return add(path, mask)
      }
      return inotify
    },
  }
}

/** A system that follows the links of one path, or of many, as this says. */
export function followingAs(
  followSymlinks: WatchSystem['followSymlinks'],
): Pick<WatchSystem, 'followSymlinks' | 'followTogether'> {
  return { followSymlinks, followTogether: (paths) => Promise.all(paths.map(followSymlinks)) }
}
