import { loadAddon, type NativeWalker } from '../addon.ts'
import { InotifyError } from '../errors.ts'
import { type Inotify, nativeQueue } from '../inotify/inotify.ts'
import { type Listing, listingsIn } from './listing.ts'
import { encodeRequests, type WalkRequest } from './walk_request.ts'
import { closedError } from './watch_error.ts'

/** Walks through directories on threads of its own: see {@link NativeWalker}. One walk at a time. */
export class Walker {
  #native: NativeWalker | undefined
  #abandon: ((reason: Error) => void) | undefined
  #closed = false

  /**
   * Calls `take` for each directory found, a directory before those in it, and resolves when there are no more. Rejects with
   * InotifyError: EBADF closed, EAGAIN no thread is to be had, EBUSY; and with what `take` throws.
   */
  async walk(
    requests: readonly WalkRequest[],
    take: (listing: Listing) => void,
    watching?: { inotify: Inotify; mask: number },
  ): Promise<void> {
    if (requests.length === 0) return
    if (this.#closed) throw closedError()
    this.#native ??= new (loadAddon().Walker)()
    const native = this.#native
    const queue = watching?.inotify[nativeQueue] ?? null
    await new Promise<void>((resolve, reject) => {
      this.#abandon = reject
      let failure: { error: unknown } | undefined
      const onRecords = (chunk: Buffer, done: boolean) => {
        try {
          if (failure === undefined) for (const listing of listingsIn(chunk)) take(listing)
        } catch (error) {
          failure = { error }
          native.cancel()
        }
        if (done) failure === undefined ? resolve() : reject(failure.error)
      }
      const error = native.walk(queue, watching?.mask ?? 0, encodeRequests(requests), onRecords)
      if (error < 0) reject(new InotifyError({ errno: -error, syscall: 'walk' }))
    })
  }

  /** Gives up the walk under way. A thread that hangs in a dead mount is left to itself. */
  close(): void {
    this.#closed = true
    this.#native?.close()
    this.#abandon?.(closedError())
  }
}
