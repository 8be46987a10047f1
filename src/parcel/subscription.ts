import { AsyncResource } from 'node:async_hooks'
import type { Change } from '../watch/report/change.ts'
import type { Watcher } from '../watch/watcher.ts'
import { type Event, Events } from './events.ts'

/** Called with an error, or with the events of 50 to 500 ms. */
export type SubscribeCallback = (error: Error | null, events: Event[]) => unknown

// As @parcel/watcher has it (Debounce.hh): the first change after a while is told at once, others when nothing has come for so long, or at the latest.
const QUIET_MS = 50
const LONGEST_MS = 500

/** Tells `fn`, in the async context of who has made this, what changes from then on. */
export class Subscription {
  /** Resolves when all that happens is told; rejects as it is not watched. */
  readonly ready: Promise<void>
  readonly #fn: SubscribeCallback
  #watcher: Watcher | undefined
  #isOpen = true
  #toldAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  /** @param onClose called as the watcher has closed, of itself too */
  constructor(opening: Promise<Watcher>, fn: SubscribeCallback, onClose: () => void) {
    this.#fn = AsyncResource.bind(fn)
    this.ready = this.#follow(opening, onClose)
  }

  /** Nothing is told after the call. */
  async close(): Promise<void> {
    this.#isOpen = false
    clearTimeout(this.#timer)
    await this.#watcher?.close()
  }

  async #follow(opening: Promise<Watcher>, onClose: () => void): Promise<void> {
    const watcher = await opening
    this.#watcher = watcher
    const events = new Events(watcher)
    watcher.on('changes', (changes) => this.#take(events, changes)).on('close', onClose)
    if (!this.#isOpen) await watcher.close()
    // A caller who unsubscribes meanwhile is not told that it has failed.
    await watcher.ready.catch((error) => this.#isOpen && Promise.reject(error))
    watcher.on('error', (error) => this.#isOpen && this.#fn(error, []))
  }

  #take(events: Events, changes: readonly Change[]): void {
    if (events.add(changes).size === 0) return
    clearTimeout(this.#timer)
    if (performance.now() - this.#toldAt > LONGEST_MS) this.#tell(events)
    // The process stays for the watcher.
    else this.#timer = setTimeout(() => this.#tell(events), QUIET_MS).unref()
  }

  #tell(events: Events): void {
    this.#toldAt = performance.now()
    this.#fn(null, events.take())
  }
}
