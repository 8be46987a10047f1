import { setImmediate, setTimeout } from 'node:timers/promises'
import { loadAddon, type NativeWalker, type RecordsCallback } from '../../addon.ts'
import { InotifyError } from '../../errors.ts'
import { nativeQueue } from '../../inotify/inotify.ts'
import { warnOfAbandonedThread } from '../../mounts/syscalls/abandoned_thread.ts'
import { textOf } from '../../name_key.ts'
import type { InotifyInstance } from '../inotify_instance.ts'
import { closedError } from '../report/watch_error.ts'
import { AheadWalks } from './ahead_walks.ts'
import { type Listing, listingsIn } from './listing.ts'
import type { Patience } from './patience.ts'
import { RequestEncoder, type WalkRequest } from './walk_request.ts'

const PATIENCE_MS = 500

/** ms between looks at how far a walk has come that a call waits for. */
const SLICE_MS = 5

/** Walks through directories on threads of its own: see {@link NativeWalker}. One walk at a time. */
export class Walker {
  readonly #mask: number
  readonly #encoder = new RequestEncoder()
  #native: NativeWalker | undefined
  #abandon: ((reason: Error) => void) | undefined
  // Settles when the native walk is over, whose first root is `#root`.
  #ended: Promise<void> | undefined
  #root = ''
  #closed = false
  readonly #ahead = new AheadWalks(() => this.cancel())

  /** @param mask the events that the watches of directories ask for */
  constructor(mask = 0) {
    this.#mask = mask
  }

  /**
   * Calls `take` for each directory found, a directory before those in it, and resolves when there are no more.
   * Rejects with InotifyError: EBADF closed, EAGAIN no thread is to be had, EBUSY; and with what `take` throws.
   */
  async walk(
    requests: readonly WalkRequest[],
    take: (listing: Listing) => void,
    inotify?: InotifyInstance,
  ): Promise<void> {
    if (requests.length === 0) return
    if (this.#closed) throw closedError()
    if (!this.#ahead.isNone) {
      const packed = Buffer.from(this.#encoder.encode(requests))
      if (await this.#ahead.tell(packed, take)) return
    }
    const queue = inotify?.[nativeQueue] ?? null
    await this.#walk(requests, take, (native, packed, onRecords) =>
      native.walk(queue, this.#mask, packed, onRecords),
    )
  }

  /**
   * Begins a walk, and waits within this call for its listings, for as long as patience goes. The next walk() with the same requests gets those that this
   * walk has found, and those that it still finds.
   *
   * @returns the listings; undefined: the walk goes on
   * @throws {InotifyError} as {@link walk} rejects
   */
  walkAhead(
    requests: readonly WalkRequest[],
    inotify: InotifyInstance,
    patience: Patience,
  ): readonly Listing[] | undefined {
    if (this.#closed) throw closedError()
    let error = 0
    const start = (take: (listing: Listing) => void) =>
      this.#walk(requests, take, (native, packed, onRecords) => {
        error = native.walk(inotify[nativeQueue], this.#mask, packed, onRecords)
        return error
      })
    const wait = (kept: readonly Listing[]) => {
      if (error !== 0) throw walkError(error)
      for (;;) {
        const rest = patience.rest(kept.length)
        if (rest <= 0) return false
        if (this.#native?.finish(Math.min(rest, SLICE_MS)) !== false) return true
      }
    }
    return this.#ahead.begin(Buffer.from(this.#encoder.encode(requests)), start, wait)
  }

  /** Drops what was found ahead and not asked for, as out of date. Resolves to the wds of these listings: those above 0 are watches. */
  forgetAhead(): Promise<number[]> {
    return this.#ahead.forget()
  }

  /**
   * Walks again and again until a walk finds something, and resolves to its listings: none if the walks were cancelled, or one took longer than the interval.
   * JavaScript sleeps meanwhile, and the process does not stay for it. The last walk need not have had all of the requests with `statOnly`.
   *
   * @param first ms from one walk to the next; then doubled each time
   * @param most the most ms
   */
  async pollIdle(requests: readonly WalkRequest[], first: number, most: number): Promise<Listing[]> {
    const found: Listing[] = []
    const take = (listing: Listing) => void found.push(listing)
    await this.#walk(requests, take, (native, packed, onRecords) =>
      native.walk(null, 0, packed, onRecords, Math.ceil(first), Math.ceil(most)),
    )
    return found
  }

  /** Ends the walk under way before its time. */
  cancel(): void {
    this.#native?.cancel()
  }

  /** ms that the last walk has taken. */
  get took(): number {
    return this.#native?.took() ?? 0
  }

  async #walk(
    requests: readonly WalkRequest[],
    take: (listing: Listing) => void,
    start: (native: NativeWalker, packed: Buffer, onRecords: RecordsCallback) => number,
  ): Promise<void> {
    if (this.#closed) throw closedError()
    this.#native ??= new (loadAddon().Walker)()
    const native = this.#native
    await new Promise<void>((resolve, reject) => {
      this.#abandon = reject
      let end = () => {}
      const ended = new Promise<void>((done) => {
        end = done
      })
      let failure: { error: unknown } | undefined
      const onRecords = (chunk: Buffer, done: boolean) => {
        try {
          if (failure === undefined && !this.#closed) {
            for (const listing of listingsIn(chunk)) take(listing)
          }
        } catch (error) {
          failure = { error }
          native.cancel()
        }
        if (!done) return
        end()
        this.#ended = undefined
        if (failure === undefined) resolve()
        else reject(failure.error)
      }
      const error = start(native, this.#encoder.encode(requests), onRecords)
      this.#root = requests[0]?.root ?? ''
      if (error === 0) this.#ended = ended
      else reject(walkError(error))
    })
  }

  /** Tells the walker that the tree has taken in the last walk: a walk with `compare` then tells only what has changed since. */
  commit(): void {
    this.#native?.commit()
  }

  /** Tells the walker that the tree differs, or may differ, from the last walk: the next walk tells everything. */
  forget(): void {
    this.#native?.forget()
  }

  /**
   * Gives up the walk under way, and waits for it to end (it has a descriptor of the inotify instance), but not for long: a thread that
   * hangs in a dead mount is left to itself.
   */
  async close(): Promise<void> {
    this.#closed = true
    this.#native?.cancel()
    this.#abandon?.(closedError())
    if (this.#ended !== undefined) {
      const patience = new AbortController()
      // An event loop that was blocked as long runs its timers before it hears of the end.
      const tooLong = setTimeout(PATIENCE_MS, undefined, { signal: patience.signal }).then(
        () => setImmediate(),
        () => {},
      )
      await Promise.race([this.#ended, tooLong])
      patience.abort()
      if (this.#ended !== undefined) warnOfAbandonedThread(textOf(this.#root), PATIENCE_MS)
    }
    this.#native?.close()
  }
}

function walkError(error: number): InotifyError {
  return new InotifyError({ errno: -error, syscall: 'walk' })
}
