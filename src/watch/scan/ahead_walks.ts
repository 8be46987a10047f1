import type { Listing, Taker } from './listing.ts'

type Take = (listing: Listing) => void

/** A walk that was begun before anybody has asked for what it finds, which it keeps until then. */
interface AheadWalk {
  /** As they are packed. */
  readonly requests: Buffer
  kept: Listing[]
  /** What it finds from now on. */
  take: Take
  /** Settles when it is over. */
  walked: Promise<void>
}

/**
 * The walks of one walker that are made ahead: each is told once, to the walk that asks by the same requests. It knows nothing of how they are made; one may be under way still, and
 * then there can be no other.
 */
export class AheadWalks {
  readonly #cancel: () => void
  #walks: AheadWalk[] = []
  #underWay: AheadWalk | undefined

  /** @param cancel ends the walk under way before its time */
  constructor(cancel: () => void) {
    this.#cancel = cancel
  }

  /** Whether there is anything that a walk has to know of. */
  get isNone(): boolean {
    return this.#walks.length === 0 && this.#underWay === undefined
  }

  /** Begins one: `start` has it begin, and tell `take` what it finds; `wait` says whether it is over by now. What was found; undefined: it goes on. */
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
    // Whoever asks for what it finds hears of it.
    walk.walked.catch(() => {})
    const isOver = wait(kept)
    if (!isOver) this.#underWay = walk
    this.#walks.push(walk)
    return isOver ? [...kept] : undefined
  }

  /** Whether a walk with these requests was made ahead; then all that it finds is told when this resolves. Rejects as that walk does, and with what `take` throws. */
  async tell(requests: Buffer, take: Take, taker: Taker | undefined): Promise<boolean> {
    const walk = this.#walks.find((each) => each.requests.equals(requests))
    const underWay = this.#underWay
    this.#underWay = undefined
    this.#walks = this.#walks.filter((each) => each !== walk)
    // To the end: it is to be asked for as well. A part of it would be taken for all that is there.
    if (underWay !== walk) await underWay?.walked.catch(() => {})
    if (walk === undefined) return false
    walk.take = (listing) => {
      if (!listing.isTakenBy(taker)) take(listing)
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

  /** All that nobody has asked for are out of date. The watches that they have added, when the one under way has ended. */
  async forget(): Promise<number[]> {
    const walks = this.#walks
    this.#walks = []
    if (this.#underWay !== undefined) this.#cancel()
    await this.#underWay?.walked.catch(() => {})
    return walks.flatMap(({ kept }) => kept.map(({ wd }) => wd))
  }
}
