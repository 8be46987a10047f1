import type { Listing } from './listing.ts'

type Take = (listing: Listing) => void

/** A walk that was begun before any caller has asked for its listings. It keeps them until then. */
interface AheadWalk {
  /** The requests, packed. */
  readonly requests: Buffer
  readonly kept: Listing[]
  /** Takes each listing from now on. */
  take: Take
  /** Settles when the walk is over. */
  walked: Promise<void>
}

/**
 * The walks of one walker that are made ahead. Each hands its listings over once, to the walk with the same requests. The class does not know how walks are
 * made. The last one may be under way still, and then there can be no other.
 */
export class AheadWalks {
  readonly #cancel: () => void
  #walks: AheadWalk[] = []

  /** @param cancel ends the walk under way before its time, if there is one */
  constructor(cancel: () => void) {
    this.#cancel = cancel
  }

  /** True: no walk was made ahead. */
  get isNone(): boolean {
    return this.#walks.length === 0
  }

  /** Begins a walk: `start` starts it and passes listings to `take`; `wait` returns true if it is over by now. Returns the listings; undefined: it goes on. */
  begin(
    requests: Buffer,
    start: (take: Take) => Promise<void>,
    wait: (kept: readonly Listing[]) => boolean,
  ): readonly Listing[] | undefined {
    const kept: Listing[] = []
    const take = (listing: Listing) => void kept.push(listing)
    const walk: AheadWalk = { requests, kept, take, walked: Promise.resolve() }
    walk.walked = start((listing) => walk.take(listing))
    // tell() rejects with it.
    walk.walked.catch(() => {})
    const isOver = wait(kept)
    this.#walks.push(walk)
    return isOver ? [...kept] : undefined
  }

  /** Hands over all listings of a walk made ahead with these requests; false: there is none. Rejects as the walk does, and with what `take` throws. */
  async tell(requests: Buffer, take: Take): Promise<boolean> {
    const walk = this.#walks.find((each) => each.requests.equals(requests))
    this.#walks = this.#walks.filter((each) => each !== walk)
    // A walk with other requests goes on to its end: its caller would take a part of it for all there is.
    await ended(this.#walks)
    if (walk === undefined) return false
    walk.take = take
    try {
      for (const listing of walk.kept.splice(0)) take(listing)
    } catch (error) {
      this.#cancel()
      await ended([walk])
      throw error
    }
    await walk.walked
    return true
  }

  /** Drops the walks that no caller has asked for, as out of date. Resolves to the watches that they have added, when the walk under way has ended. */
  async forget(): Promise<number[]> {
    const walks = this.#walks.splice(0)
    if (walks.length > 0) this.#cancel()
    await ended(walks)
    return walks.flatMap(({ kept }) => kept.map(({ wd }) => wd))
  }
}

const ended = (walks: readonly AheadWalk[]) => Promise.allSettled(walks.map(({ walked }) => walked))
