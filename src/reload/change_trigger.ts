import { InotifyError } from '../errors.ts'
import { watch } from '../watch/calls.ts'
import { settingsOf, type WatchOptions } from '../watch/options.ts'
import type { Watcher } from '../watch/watcher.ts'

/** Of the paths that cannot be watched, how many are told of one by one each time: whoever may write a directory lays links by the thousand. */
const NAMED = 5

const OPTIONS: WatchOptions = { recursive: true, settle: 0 }

export interface ChangeTriggerListener {
  /** Something may have changed. */
  hint(): void
  /** What cannot be watched, or not as it should be: looks by the clock go on. */
  trouble(error: Error): void
}

/**
 * Says when it is time to look. Whatever cannot be watched is tried again by {@link follow}, so nothing that fails here is the end: an
 * instance of inotify that is not to be had, a directory that may not be read.
 */
export class ChangeTrigger {
  readonly #paths: readonly string[]
  readonly #listener: ChangeTriggerListener
  // undefined: nothing has been followed yet; or it has closed of itself, as it does where events can no longer be read.
  #watcher: Watcher | undefined
  readonly #watched = new Set<string>()
  // What could not be watched when it was last tried.
  readonly #failing = new Set<string>()
  #closed = false

  /** Throws a TypeError where the environment says something wrong, as watch() does. */
  constructor(paths: readonly string[], listener: ChangeTriggerListener) {
    this.#paths = paths
    this.#listener = listener
    settingsOf(OPTIONS)
  }

  /**
   * Watches the paths, and these links: what they lead to lies elsewhere. Resolves when they are watched, as far as they can be.
   *
   * @param outward absolute
   */
  follow(outward: readonly string[]): Promise<void> {
    if (this.#closed) return Promise.resolve()
    this.#watcher ??= this.#open()
    const watcher = this.#watcher
    const wanted = new Set([...this.#paths, ...outward])
    for (const path of [...this.#watched].filter((each) => !wanted.has(each))) {
      this.#watched.delete(path)
      void watcher.remove(path)
    }
    for (const path of [...this.#failing].filter((each) => !wanted.has(each))) this.#failing.delete(path)
    const missing = [...wanted].filter((each) => !this.#watched.has(each))
    for (const path of missing) this.#watched.add(path)
    return this.#addAll(watcher, missing)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#watcher?.close()
  }

  async #addAll(watcher: Watcher, paths: readonly string[]): Promise<void> {
    let told = 0
    let untold = 0
    let first: InotifyError | undefined
    await Promise.all(
      paths.map(async (path) => {
        try {
          await watcher.add(path)
          this.#failing.delete(path)
        } catch (error) {
          if (!this.#enterFailure(path)) return
          if (!(error instanceof InotifyError) || ++told <= NAMED)
            return this.#listener.trouble(error as Error)
          first ??= error
          untold++
        }
      }),
    )
    if (first === undefined || this.#closed) return
    const { errno, syscall, path } = first
    const hint = untold === 1 ? first.hint : `and ${untold - 1} more, which are looked at by the clock alone`
    this.#listener.trouble(new InotifyError({ errno: -errno, syscall, path, hint }))
  }

  /** Whether it is news. */
  #enterFailure(path: string): boolean {
    this.#watched.delete(path)
    if (this.#closed || this.#failing.has(path)) return false
    this.#failing.add(path)
    return true
  }

  #open(): Watcher {
    const watcher = watch([], OPTIONS)
    watcher.ready.catch(() => {})
    watcher.on('changes', () => this.#listener.hint())
    watcher.on('error', (error) => this.#listener.trouble(error))
    watcher.on('close', () => {
      if (this.#watcher !== watcher) return
      this.#watcher = undefined
      this.#watched.clear()
    })
    return watcher
  }
}
