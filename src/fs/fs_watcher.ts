import { EventEmitter } from 'node:events'

export type ChangeType = 'rename' | 'change'
/** `name`: relative to what is watched; null: nobody knows, and anything may have changed. */
export type OnChange = (type: ChangeType, name: Buffer | null) => void

/** Something is wrong, and nothing more will be told. */
export type OnError = (error: Error) => void

/** Where changes come from. */
export interface ChangeSource {
  ref(): void
  unref(): void
  close(): void
}

export type Encoding = BufferEncoding | 'buffer'
export type Filename = string | Buffer | null

interface FSWatcherEventMap {
  change: [eventType: ChangeType, filename: Filename]
  error: [error: Error]
  close: []
}

/** As fs.FSWatcher: 'change' (eventType, filename) · 'error' (error) · 'close'. */
export class FSWatcher extends EventEmitter<FSWatcherEventMap> {
  #source: ChangeSource | undefined
  readonly #encoding: Encoding

  /** Use watch(). `open` gets what is to be told of changes, and of what goes wrong. Throws what it throws. */
  constructor(encoding: Encoding, open: (onChange: OnChange, onError: OnError) => ChangeSource) {
    super()
    this.#encoding = encoding
    this.#source = open(
      (type, name) => {
        if (this.#source !== undefined) this.#tell(type, encoded(name, this.#encoding))
      },
      (error) => {
        if (this.#source === undefined) return
        this.close()
        this.emit('error', error)
      },
    )
  }

  /** Ends the watching. Idempotent. Nothing is told after it but 'close', in the next tick. */
  close(): void {
    if (this.#source === undefined) return
    this.#source.close()
    this.#source = undefined
    process.nextTick(() => this.emit('close'))
  }

  // A listener that throws is an uncaught exception, and not the end of what others, and it, are still to be told.
  #tell(type: ChangeType, filename: Filename): void {
    try {
      this.emit('change', type, filename)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }

  ref(): this {
    this.#source?.ref()
    return this
  }

  unref(): this {
    this.#source?.unref()
    return this
  }
}

function encoded(name: Buffer | null, encoding: Encoding): Filename {
  return name === null || encoding === 'buffer' ? name : name.toString(encoding)
}
