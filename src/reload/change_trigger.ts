import { InotifyError } from '../errors.ts'
import { watch } from '../watch/calls.ts'
import { settingsOf, type WatchOptions } from '../watch/options.ts'
import type { Watcher } from '../watch/watcher.ts'

/** The most paths, among those that cannot be watched, that are told one by one each time: others who may write a directory can lay links by the thousand. */
const NAMED = 5

const OPTIONS: WatchOptions = { recursive: true, settle: 0 }

interface ChangeTriggerListener {
  /** Something may have changed. */
  hint(): void
  /** Reports a path that cannot be watched, or not as it should be: looks by the clock go on. */
  trouble(error: Error): void
}

/**
 * Tells when to look. {@link follow} tries each path again that cannot be watched, so no failure here is final: no inotify instance to
 * be had, a directory that may not be read.
 */
export class ChangeTrigger {
  readonly #paths: readonly string[]
  readonly #listener: ChangeTriggerListener
  // undefined: nothing is followed yet; or the watcher has closed itself, as events could no longer be read.
  #watcher: Watcher | undefined
  // True for a path that is watched, or about to be; false for one that could not be watched at the last try.
  readonly #watched = new Map<string, boolean>()
  #closed = false

  /** Throws a TypeError for a wrong value in the environment, as watch() does. */
  constructor(paths: readonly string[], listener: ChangeTriggerListener) {
    this.#paths = paths
    this.#listener = listener
    settingsOf(OPTIONS)
  }

  /**
   * Watches the paths, and these links, whose targets lie elsewhere. Resolves when they are watched, as far as they can be.
   *
   * @param outward absolute paths
   */
  async follow(outward: readonly string[]): Promise<void> {
    if (this.#closed) return
    this.#watcher ??= this.#open()
    const watcher = this.#watcher
    const wanted = new Set([...this.#paths, ...outward])
    for (const [path, isWatched] of this.#watched) {
      if (wanted.has(path)) continue
      this.#watched.delete(path)
      if (isWatched) void watcher.remove(path)
    }
    const failed: InotifyError[] = []
    const add = async (path: string) => {
      const hasFailed = this.#watched.get(path) === false
      this.#watched.set(path, true)
      try {
        await watcher.add(path)
      } catch (error) {
        this.#watched.set(path, false)
        if (!hasFailed && failed.push(error as InotifyError) <= NAMED) this.#listener.trouble(error as Error)
      }
    }
    await Promise.all([...wanted].filter((path) => !this.#watched.get(path)).map(add))
    const [first, ...more] = failed.slice(NAMED)
    if (first === undefined) return
    const { errno, syscall, path } = first
    const hint =
      more.length === 0 ? first.hint : `and ${more.length} more, which are looked at by the clock alone`
    this.#listener.trouble(new InotifyError({ errno: -errno, syscall, path, hint }))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#watcher?.close()
  }

  #open(): Watcher {
    const watcher = watch([], OPTIONS)
    watcher.ready.catch(() => {})
    watcher.on('changes', () => this.#listener.hint())
    watcher.on('error', (error) => this.#listener.trouble(error))
    watcher.on('close', () => {
      this.#watcher = undefined
      for (const [path, isWatched] of this.#watched) if (isWatched) this.#watched.delete(path)
    })
    return watcher
  }
}
