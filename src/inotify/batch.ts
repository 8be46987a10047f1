/** An event as an object: the fields of struct inotify_event (inotify(7)). Iterating an {@link EventBatch} makes these. */
export interface InotifyEvent {
  /** The watch descriptor that {@link Inotify.add} returned; -1 with IN_Q_OVERFLOW. */
  wd: number
  /** The raw mask: test it with `&`, print it with {@link formatMask}. */
  mask: number
  /** The same number, and not 0, in the IN_MOVED_FROM and the IN_MOVED_TO of one rename. */
  cookie: number
  /** The name in the watched directory, as UTF-8; `''` if the event is about the watched object itself. */
  name: string
}

/**
 * Events in the order of the kernel. Iterating makes an object for each event; reading the columns makes none. A batch stays valid as long as it is kept.
 *
 * Each method takes an index from 0 to `length - 1`, and throws a RangeError for any other.
 *
 * @example
 * ```js
 * import { mkdtemp, rm, writeFile } from 'node:fs/promises'
 * import { IN_CREATE, Inotify } from 'inotify-bridge'
 *
 * const directory = await mkdtemp('/tmp/example-')
 * const inotify = new Inotify()
 * inotify.add(directory, IN_CREATE)
 * inotify.on('events', (batch) => {
 *   for (let i = 0; i < batch.length; i++) {
 *     if (batch.mask(i) & IN_CREATE) console.log(batch.name(i), batch.nameBytes(i))
 *   }
 *   inotify.close()
 * })
 * inotify.on('close', () => rm(directory, { recursive: true }))
 * await writeFile(`${directory}/é`, '')
 * ```
 */
export interface EventBatch extends Iterable<InotifyEvent> {
  /** The number of events. */
  readonly length: number
  /** The watch descriptor; -1 with IN_Q_OVERFLOW. */
  wd(i: number): number
  /** The raw mask. */
  mask(i: number): number
  /** The same number, and not 0, in the two halves of one rename. */
  cookie(i: number): number
  /** The name as UTF-8; `''` if the kernel gave none. Bytes that are no UTF-8 become U+FFFD: see {@link nameBytes}. */
  name(i: number): string
  /** The exact bytes of the name. */
  nameBytes(i: number): Buffer
}

// The addon's layout (native/queue/packing.h).
const COLUMNS = 4
const ROW_SHIFT = 2
const GROUP_SHIFT = 6
const GROUP_MASK = (1 << GROUP_SHIFT) - 1
const NOT_ASCII = 1 << 30
const SAME_NAME = 1 << 29
const NAME_END = SAME_NAME - 1

/**
 * An {@link EventBatch} over the addon's packed events: a row of four Int32 an event (wd, mask, cookie, nameEnd) and a latin1 string of all
 * names of each 64 events. nameEnd is the end of the name in its group's string. Bit 30 is set if the name is not ASCII: then the string
 * holds its bytes, one a character, and not its text. Bit 29: the event has the name of the one before, and the string holds the name once.
 */
export class PackedBatch implements EventBatch {
  readonly length: number
  readonly #rows: Int32Array
  readonly #names: readonly string[]
  // The event whose name was made last, and that name: the next event may have the same name.
  #named = -1
  #name = ''

  constructor(rows: Int32Array, names: readonly string[]) {
    this.length = rows.length / COLUMNS
    this.#rows = rows
    this.#names = names
  }

  wd(i: number): number {
    return this.#column(i, 0)
  }

  mask(i: number): number {
    return this.#column(i, 1) >>> 0
  }

  cookie(i: number): number {
    return this.#column(i, 2) >>> 0
  }

  name(i: number): string {
    const end = this.#column(i, 3)
    if ((end & SAME_NAME) === 0 || this.#named !== i - 1) {
      const bytes = this.#latin1(i)
      this.#name = (end & NOT_ASCII) === 0 ? bytes : Buffer.from(bytes, 'latin1').toString('utf8')
    }
    this.#named = i
    return this.#name
  }

  nameBytes(i: number): Buffer {
    this.#column(i, 3)
    return Buffer.from(this.#latin1(i), 'latin1')
  }

  [Symbol.iterator](): Iterator<InotifyEvent> {
    return eventsOf(this)
  }

  #column(i: number, column: number): number {
    const value = this.#rows[i * COLUMNS + column]
    if (value === undefined || i >>> 0 !== i) throw noEvent(i, this.length)
    return value
  }

  // A slice of 13 characters or more keeps its parent alive in V8, hence a string for each 64 events and not for the batch.
  #latin1(i: number): string {
    const rows = this.#rows
    let at = i * COLUMNS + 3
    while (((rows[at] as number) & SAME_NAME) !== 0) at -= COLUMNS
    const isFirst = ((at >> ROW_SHIFT) & GROUP_MASK) === 0
    const start = isFirst ? 0 : (rows[at - COLUMNS] as number) & NAME_END
    return (this.#names[i >> GROUP_SHIFT] ?? '').substring(start, (rows[at] as number) & NAME_END)
  }
}

/**
 * An {@link EventBatch} of one event, which most batches are. A reader that has been asleep finds little in the processor's caches, and the
 * objects that {@link PackedBatch} touches (two arrays, a buffer, three calls a column) are a tenth of the time in which such an event arrives.
 */
export class LoneEvent implements EventBatch {
  readonly length = 1
  readonly #wd: number
  readonly #mask: number
  readonly #cookie: number
  // One character a byte.
  readonly #name: string
  readonly #isAscii: boolean

  constructor(wd: number, mask: number, cookie: number, name: string, isAscii: boolean) {
    this.#wd = wd
    this.#mask = mask
    this.#cookie = cookie
    this.#name = name
    this.#isAscii = isAscii
  }

  wd(i: number): number {
    if (i !== 0) throw noEvent(i, 1)
    return this.#wd
  }

  mask(i: number): number {
    if (i !== 0) throw noEvent(i, 1)
    return this.#mask
  }

  cookie(i: number): number {
    if (i !== 0) throw noEvent(i, 1)
    return this.#cookie
  }

  name(i: number): string {
    if (i !== 0) throw noEvent(i, 1)
    return this.#isAscii ? this.#name : Buffer.from(this.#name, 'latin1').toString('utf8')
  }

  nameBytes(i: number): Buffer {
    if (i !== 0) throw noEvent(i, 1)
    return Buffer.from(this.#name, 'latin1')
  }

  [Symbol.iterator](): Iterator<InotifyEvent> {
    return eventsOf(this)
  }
}

function* eventsOf(batch: EventBatch): Generator<InotifyEvent, void> {
  for (let i = 0; i < batch.length; i++) {
    yield { wd: batch.wd(i), mask: batch.mask(i), cookie: batch.cookie(i), name: batch.name(i) }
  }
}

function noEvent(i: number, length: number): RangeError {
  return new RangeError(`no event ${i} in a batch of ${length}`)
}
