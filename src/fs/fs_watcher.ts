import { EventEmitter } from 'node:events'
import type { WatchListener } from 'node:fs'
import { LONGEST_TIMER } from '../interval.ts'

export type FSWatchListener = WatchListener<string | Buffer>

interface FSWatcherEventMap {
  change: Parameters<FSWatchListener>
  error: [error: Error]
  close: []
}

/** As fs.FSWatcher: 'change' (eventType, filename) · 'error' (error) · 'close'. */
export class FSWatcher extends EventEmitter<FSWatcherEventMap> {
  #end: (() => void) | undefined
  // All that keeps the process: what it watches by does not.
  readonly #stay: NodeJS.Timeout

  /** Use watch(). `open` gets what is to be called of changes, and of what ends them; its answer ends them. Throws what it throws. */
  constructor(
    listener: FSWatchListener | undefined,
    open: (tell: FSWatchListener, fail: (error: Error) => void) => () => void,
  ) {
    super()
    if (listener !== undefined) this.on('change', listener)
    const tell: FSWatchListener = (...change) => {
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
    this.#end = open(tell, (error) => {
      if (this.#end === undefined) return
      this.close()
      this.emit('error', error)
    })
    this.#stay = setInterval(() => {}, LONGEST_TIMER)
  }

  /** Ends the watching. Idempotent. Nothing is told after it but 'close', in the next tick. */
  close(): void {
    if (this.#end === undefined) return
    this.#end()
    this.#end = undefined
    clearInterval(this.#stay)
    process.nextTick(() => this.emit('close'))
  }

  ref(): this {
    this.#stay.ref()
    return this
  }

  unref(): this {
    this.#stay.unref()
    return this
  }
}
