import { AsyncResource } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import type { WatchListener } from 'node:fs'
import { LONGEST_TIMER } from '../interval.ts'

/** The listener of fs.watch(): (eventType, filename). */
export type FSWatchListener = WatchListener<string | Buffer>

interface FSWatcherEventMap {
  change: Parameters<FSWatchListener>
  error: [error: Error]
  close: []
}

/** As fs.FSWatcher. Events: `'change'` (eventType, filename) · `'error'` (error) · `'close'`. */
export class FSWatcher extends EventEmitter<FSWatcherEventMap> {
  #end: (() => void) | undefined
  // All that keeps the process: what it watches by does not.
  readonly #stay: NodeJS.Timeout

  /**
   * @hidden
   * Use watch(). `open` gets the functions to call for changes, and for an error that ends them; its answer ends them. Throws what `open` throws.
   */
  constructor(
    listener: FSWatchListener | undefined,
    open: (tell: FSWatchListener, fail: (error: Error) => void) => () => void,
  ) {
    super()
    if (listener !== undefined) this.on('change', listener)
    // As Node's own, in the async context of who has called watch().
    const inContext = AsyncResource.bind((act: () => void) => act())
    const tell: FSWatchListener = (...change) => inContext(() => this.#tell(change))
    // In a turn of its own, as Node's: who awaits what gives this watcher is to have listened by then.
    const fail = (error: Error) => {
      this.#end?.()
      this.#end &&= () => {}
      setImmediate(() => {
        if (this.#end === undefined) return
        this.close()
        inContext(() => this.emit('error', error))
      })
    }
    this.#end = open(tell, fail)
    this.#stay = setInterval(() => {}, LONGEST_TIMER)
  }

  #tell(change: Parameters<FSWatchListener>): void {
    if (this.#end === undefined) return
    try {
      this.emit('change', ...change)
    } catch (error) {
      // It is an uncaught exception, and not the end of what others, and this listener, are still to be told.
      queueMicrotask(() => {
        throw error
      })
    }
  }

  /** Stops watching. Idempotent. Nothing but 'close' follows, in the next tick. */
  close(): void {
    if (this.#end === undefined) return
    this.#end()
    this.#end = undefined
    clearInterval(this.#stay)
    process.nextTick(() => this.emit('close'))
  }

  /** Lets the open watcher keep the process alive (again). */
  ref(): this {
    this.#stay.ref()
    return this
  }

  /** Lets the process end though the watcher is open. */
  unref(): this {
    this.#stay.unref()
    return this
  }
}
