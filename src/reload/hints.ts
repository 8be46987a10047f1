import { type Watcher, watch } from '../watch/watcher.ts'

export interface HintsListener {
  /** Something may have changed. */
  hint(): void
  /** What cannot be watched, or not as it should be: looks by the clock go on. */
  trouble(error: Error): void
}

/**
 * Says when it is time to look. Whatever cannot be watched is tried again by {@link follow}, so nothing that fails here is the end: an
 * instance of inotify that is not to be had, a directory that may not be read.
 */
export class Hints {
  readonly #paths: readonly string[]
  readonly #listener: HintsListener
  // undefined: it has closed of itself, as it does where events can no longer be read.
  #watcher: Watcher | undefined
  readonly #watched = new Set<string>()
  readonly #said = new Set<string>()
  #closed = false

  /** Throws a TypeError where the environment says something wrong, as watch() does. */
  constructor(paths: readonly string[], listener: HintsListener) {
    this.#paths = paths
    this.#listener = listener
    this.#watcher = this.#open()
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
    const missing = [...wanted].filter((each) => !this.#watched.has(each))
    for (const path of missing) this.#watched.add(path)
    return Promise.all(missing.map((path) => this.#add(watcher, path))).then(() => {})
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#watcher?.close()
  }

  async #add(watcher: Watcher, path: string): Promise<void> {
    try {
      await watcher.add(path)
      this.#said.delete(path)
    } catch (error) {
      this.#watched.delete(path)
      this.#say(path, error as Error)
    }
  }

  #say(path: string, error: Error): void {
    if (this.#closed || this.#said.has(path)) return
    this.#said.add(path)
    this.#listener.trouble(error)
  }

  #open(): Watcher {
    const watcher = watch([], { recursive: true })
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
