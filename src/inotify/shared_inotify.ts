import type { EventBatch } from './batch.ts'
import { Inotify } from './inotify.ts'

/** A listener that watches by a {@link SharedInotify}. */
export interface SharedListener {
  /** @param name undefined: the event has none; every listener is told of an overflow */
  event(mask: number, name: Buffer | undefined): void
  /** Takes the error by which events can no longer be read. */
  fail(error: Error): void
}

/**
 * One inotify instance for many watches, since a user has 128 instances: open while there is a watch, and does not
 * keep the process alive. An inode has one watch, however many listeners there are: so all ask for the same events.
 */
export class SharedInotify {
  readonly #mask: number
  readonly #listeners = new Map<number, Set<SharedListener>>()
  #inotify: Inotify | undefined

  constructor(mask: number) {
    this.#mask = mask
  }

  /** Watches a path. The returned function ends that alone. Throws InotifyError as {@link Inotify.add} does, and if there is no instance to be had. */
  watch(path: string | Buffer, listener: SharedListener): () => void {
    this.#inotify ??= this.#open()
    try {
      const wd = this.#inotify.add(path, this.#mask)
      this.#listeners.set(wd, (this.#listeners.get(wd) ?? new Set()).add(listener))
      return () => this.#remove(wd, listener)
    } finally {
      this.#closeUnused()
    }
  }

  #open(): Inotify {
    return (
      new Inotify({ persistent: false })
        .on('events', (batch) => this.#tell(batch))
        // The instance has closed itself.
        .on('error', (error) => {
          for (const each of this.#all()) each.fail(error)
        })
    )
  }

  #all(): SharedListener[] {
    return [...this.#listeners.values()].flatMap((listeners) => [...listeners])
  }

  #remove(wd: number, listener: SharedListener): void {
    const listeners = this.#listeners.get(wd)
    if (!listeners?.delete(listener) || listeners.size > 0) return
    this.#listeners.delete(wd)
    this.#closeUnused()
    try {
      this.#inotify?.remove(wd)
    } catch {
      // EINVAL: the watched object is gone, and its watch with it.
    }
  }

  #closeUnused(): void {
    if (this.#listeners.size > 0) return
    this.#inotify?.close()
    this.#inotify = undefined
  }

  #tell(batch: EventBatch): void {
    for (let i = 0; i < batch.length; i++) {
      const wd = batch.wd(i)
      const name = batch.name(i) === '' ? undefined : batch.nameBytes(i)
      // An event with wd -1 is an overflow.
      const concerned = wd < 0 ? this.#all() : [...(this.#listeners.get(wd) ?? [])]
      for (const each of concerned) each.event(batch.mask(i), name)
    }
  }
}
