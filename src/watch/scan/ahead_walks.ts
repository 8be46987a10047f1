import type { Listing, Taker } from './listing.ts'

type Take = (listing: Listing) => void

/** A walk that was begun before any caller has asked for its listings. It keeps them until then. */
interface AheadWalk {
  /** The requests, packed. */
  readonly requests: Buffer
  kept: Listing[]
  /** Takes each listing from now on. */
  take: Take
  /** Settles when the walk is over. */
  walked: Promise<void>
}

/**
 * The walks of one walker that are made ahead. Each hands its listings over once, to the walk with the same requests. The class does not know how walks are
 * made. One may be under way still, and then there can be no other.
 */
export class AheadWalks {
  readonly #cancel: () => void
  #walks: AheadWalk[] = []
  #underWay: AheadWalk | undefined

  /** @param cancel ends the walk under way before its time */
  constructor(cancel: () => void) {
    this.#cancel = cancel
  }

  /** True: no walk was made ahead, and none is under way. */
  get isNone(): boolean {
    return this.#walks.length === 0 && this.#underWay === undefined
  }

  /** Begins a walk: `start` starts it and passes listings to `take`; `wait` returns true if it is over by now. Returns the listings; undefined: it goes on. */
  begin(
    requests: Buffer,
    start: (take: Take) => Promise<void>,
    wait: (kept: readonly Listing[]) => boolean,
  ): Listing[] | undefined {
    const kept: Listing[] = []
    const walk: AheadWalk = {
      requests,
      kept,
      take: (listing) => void kept.push(listing),
      walked: Promise.resolve(),
    }
    walk.walked = start((listing) => walk.take(listing))
    // tell() rejects with it.
    walk.walked.catch(() => {})
    const isOver = wait(kept)
    if (!isOver) this.#underWay = walk
    this.#walks.push(walk)
    return isOver ? [...kept] : undefined
  }

  /** Hands over all listings of a walk made ahead with these requests; false: there is none. Rejects as the walk does, and with what `take` throws. */
  async tell(requests: Buffer, take: Take, taker: Taker | undefined): Promise<boolean> {
    const walk = this.#walks.find((each) => each.requests.equals(requests))
    const underWay = this.#underWay
    this.#underWay = undefined
    this.#walks = this.#walks.filter((each) => each !== walk)
    // A walk with other requests goes on to its end: its caller would take a part of it for all there is.
    if (underWay !== walk) await underWay?.walked.catch(() => {})
    if (walk === undefined) return false
    walk.take = (listing) => {
      if (!taker?.take(listing)) take(listing)
    }
    try {
      for (const listing of walk.kept.splice(0)) walk.take(listing)
    } catch (error) {
      if (walk === underWay) this.#cancel()
      await walk.walked.catch(() => {})
      throw error
    }
    await walk.walked
    return true
  }

  /** Drops the walks that no caller has asked for, as out of date. Resolves to the watches that they have added, when the walk under way has ended. */
  async forget(): Promise<number[]> {
    const walks = this.#walks
    this.#walks = []
    if (this.#underWay !== undefined) this.#cancel()
    await this.#underWay?.walked.catch(() => {})
    return walks.flatMap(({ kept }) => kept.map(({ wd }) => wd))
  }
}
