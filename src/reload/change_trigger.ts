import { InotifyError } from '../errors.ts'
import { watch } from '../watch/calls.ts'
import { settingsOf, type WatchOptions } from '../watch/options.ts'
import type { Watcher } from '../watch/watcher.ts'

/** The most paths, among those that cannot be watched, that are told one by one each time: others who may write a directory can lay links by the thousand. */
const NAMED = 5

const OPTIONS: WatchOptions = { recursive: true, settle: 0 }

export interface ChangeTriggerListener {
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
  readonly #watched = new Set<string>()
  // The paths that could not be watched at the last try.
  readonly #failing = new Set<string>()
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

  /** Returns true if the failure is new. */
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
