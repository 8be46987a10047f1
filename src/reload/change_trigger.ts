import { InotifyError } from '../errors.ts'
import { watch } from '../watch/calls.ts'
import { settingsOf, type WatchOptions } from '../watch/options.ts'
import type { Watcher } from '../watch/watcher.ts'

/** The most paths, among those that cannot be watched, that are told one by one each time: others who may write a directory can lay links by the thousand. */
const NAMED = 5

const OPTIONS: WatchOptions = { recursive: true, settle: 0 }

export type ChangeTrigger = ReturnType<typeof changeTrigger>

/**
 * Tells when to look. `follow` tries each path again that cannot be watched, so no failure here is final: no inotify instance to
 * be had, a directory that may not be read. Throws a TypeError for a wrong value in the environment, as watch() does.
 *
 * @param hint called when something may have changed
 * @param trouble gets an error of a path that cannot be watched, or not as it should be: looks by the clock go on
 */
export function changeTrigger(paths: readonly string[], hint: () => void, trouble: (error: Error) => void) {
  settingsOf(OPTIONS)
  // undefined: nothing is followed yet; or the watcher has closed itself, as events could no longer be read.
  let watcher: Watcher | undefined
  // True for a path that is watched, or about to be; false for one that could not be watched at the last try.
  const watched = new Map<string, boolean>()
  let isClosed = false

  const open = () => {
    const opened = watch([], OPTIONS)
    opened.ready.catch(() => {})
    opened.on('changes', hint)
    opened.on('error', trouble)
    opened.on('close', () => {
      watcher = undefined
      for (const [path, isWatched] of watched) if (isWatched) watched.delete(path)
    })
    return opened
  }
  return {
    /**
     * Watches the paths, and these links, whose targets lie elsewhere. Resolves when they are watched, as far as they can be.
     *
     * @param outward absolute paths
     */
    async follow(outward: readonly string[]): Promise<void> {
      if (isClosed) return
      watcher ??= open()
      const following = watcher
      const wanted = new Set([...paths, ...outward])
      for (const [path, isWatched] of watched) {
        if (wanted.has(path)) continue
        watched.delete(path)
        if (isWatched) void following.remove(path)
      }
      const failed: InotifyError[] = []
      const add = async (path: string) => {
        const hasFailed = watched.get(path) === false
        watched.set(path, true)
        try {
          await following.add(path)
        } catch (error) {
          watched.set(path, false)
          if (!hasFailed && failed.push(error as InotifyError) <= NAMED) trouble(error as Error)
        }
      }
      await Promise.all([...wanted].filter((path) => !watched.get(path)).map(add))
      const [first, ...more] = failed.slice(NAMED)
      if (first === undefined) return
      if (more.length === 0) return trouble(first)
      const { errno, syscall, path } = first
      const hint = `and ${more.length} more, which are looked at by the clock alone`
      trouble(new InotifyError({ errno: -errno, syscall, path, hint }))
    },
    async close(): Promise<void> {
      isClosed = true
      await watcher?.close()
    },
  }
}
