import { Inotify } from '../../../src/index.ts'
import type { Resolved } from '../../../src/mounts/syscalls/symlinks.ts'
import { linux } from '../../../src/watch/linux.ts'
import type { WatchSystem } from '../../../src/watch/system.ts'

/**
 * Returns a system that reports each question before the answer, and once more with the answer if that takes
 * time.
 */
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

/** Resolves one path. */
export async function followSymlinks(path: string): Promise<Resolved> {
  return (await linux.followTogether([path]))[0] as Resolved
}

/** A system that follows the links of each path as this says. */
export function followingAs(follow: typeof followSymlinks): Pick<WatchSystem, 'followTogether'> {
  return { followTogether: (paths) => Promise.all(paths.map(follow)) }
}
