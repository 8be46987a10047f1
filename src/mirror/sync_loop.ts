import { setTimeout as sleep } from 'node:timers/promises'
import { warnOfAbandonedThread } from '../mounts/syscalls/abandoned_thread.ts'
import { RELAYED_MS } from '../relay/relay_client.ts'
import { warn } from '../warning.ts'
import type { Conditions } from './conditions.ts'
import { rethrow } from './events.ts'
import { StatProbes, TWO_TICKS } from './source/rest.ts'
import { lost, type Outcome, type PassContext, SyncPass } from './sync_pass.ts'

/** ms after which all of the source is looked at, though nothing seems to have changed: for those who edit a generation in place. */
const THOROUGH = 10_000
/** ms after which a source that does not answer is called lost. */
const PATIENCE = 5000
/** ms that the end of a pass is waited for when a mirror is closed. */
const PARTING = 500
/** A look that takes longer than this, and than the interval, is said to. */
const SLOW = 250

/** Follows one source: a pass, then a wait until something has changed, or for the interval. */
export class SyncLoop {
  /** True: a relay tells of changes, and a quiet source may be looked at seldom. */
  isRelayed = false
  readonly #context: PassContext
  readonly #passes: SyncPass
  readonly #conditions: Conditions
  // Told when the next pass is over, or why it failed.
  #requests: Array<(failure: unknown) => void> = []
  #wake = () => {}
  #loop: Promise<void> | undefined
  #ended = false
  readonly #ending = new AbortController()
  #saidSlow = false
  // performance.now() of the beginning of the last pass, and ms from there to the next.
  #began = 0
  #soon: number
  // A probe was not what it had been.
  #wasDisturbed = false

  constructor(context: PassContext, conditions: Conditions) {
    this.#context = context
    this.#conditions = conditions
    this.#passes = new SyncPass(context)
    this.#soon = context.config.interval
  }

  /** The first pass. */
  begin(): Promise<void> {
    const first = this.refresh()
    // The end waits for this one as well: what it makes in the target must be there before the target is cleared.
    this.#loop = this.#follow()
    return first
  }

  /** Resolves after a pass that begins now, or after the one under way. */
  refresh(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#requests.push((failure) => (failure === undefined ? resolve() : reject(failure)))
      this.#wake()
    })
  }

  /** Another look is due, whatever was seen. */
  disturb(): void {
    this.#wake()
  }

  /** Ends after the pass under way; one that a dead mount holds is left behind, and that is said. */
  async end(): Promise<void> {
    const { calls, path } = this.#context.source
    this.#ended = true
    this.#wake()
    const parting = new AbortController()
    await Promise.race([this.#loop, sleep(PARTING, undefined, { signal: parting.signal }).catch(() => {})])
    parting.abort()
    if (calls.unanswered >= PARTING) warnOfAbandonedThread(path, calls.unanswered)
    calls.end()
    this.#ending.abort()
    await this.#loop
  }

  async #follow(): Promise<void> {
    let outcome: Outcome | undefined
    while (!this.#ended) {
      if (this.#requests.length === 0) await this.#rest(outcome)
      if (this.#ended) break
      const requests = this.#requests
      this.#requests = []
      let failure: unknown
      try {
        outcome = await this.#pass()
      } catch (error) {
        // A listener's, for one.
        outcome = undefined
        failure = error
      }
      for (const each of requests) each(failure)
      if (failure !== undefined && requests.length === 0) rethrow(failure)
    }
    for (const each of this.#requests) each(undefined)
  }

  /** undefined if it failed. Throws what a listener throws. */
  async #pass(): Promise<Outcome | undefined> {
    const { index } = this.#context
    // The first has everything to copy, and delays no change.
    const isFirst = this.#loop === undefined
    this.#began = performance.now()
    let outcome: Outcome | undefined
    let failure: unknown
    try {
      outcome = await this.#watchOver(this.#passes.run(this.#ending.signal))
    } catch (error) {
      failure = error
    }
    if (this.#ended) return outcome
    if (!isFirst) this.#sayIfSlow()
    if (outcome === undefined) this.#conditions.fail(index, failure)
    else this.#conditions.take(index, outcome)
    this.#conditions.endPass()
    return outcome
  }

  async #rest(outcome: Outcome | undefined): Promise<void> {
    const { config } = this.#context
    const took = performance.now() - this.#began
    // A writer who has begun goes on (the directory of an AtomicWriter changes five times in an update), and what was read once is to
    // be read once more. Soon, then, but not at the cost of all the time there is.
    const isChanging =
      this.#wasDisturbed ||
      (outcome !== undefined && (outcome.state === undefined || outcome.changed !== undefined))
    const isSeldom =
      this.isRelayed && !isChanging && outcome?.complete !== undefined && !outcome.isUnconfirmed
    const interval = isSeldom ? Math.max(RELAYED_MS, config.interval) : config.interval
    if (isSeldom) this.#soon = interval
    else
      this.#soon = isChanging
        ? Math.max(TWO_TICKS, interval / 16, Math.min(took, interval / 2))
        : Math.min(interval, 2 * this.#soon)
    this.#wasDisturbed = false
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    const complete = outcome?.complete
    const probes = complete && (await this.#watchOver(StatProbes.place(this.#context.source, complete)))
    if (probes === undefined) {
      const pause = Math.max(this.#soon, 2 * took) - took
      const ends = new AbortController()
      const options = { signal: ends.signal, ref: config.persistent }
      await Promise.race([woken, sleep(pause, undefined, options).catch(() => {})])
      ends.abort()
    } else {
      await Promise.race([woken, this.#watch(probes, interval, outcome?.isUnconfirmed ? interval : THOROUGH)])
      await probes[Symbol.asyncDispose]().catch(() => {})
    }
    this.#wake = () => {}
  }

  /** Until something has changed, and without this thread being woken. */
  async #watch(probes: StatProbes, interval: number, limit: number): Promise<void> {
    const { config, source, index } = this.#context
    const pace = {
      soon: Math.ceil(this.#soon),
      interval: Math.ceil(interval),
      limit: Math.ceil(Math.max(limit, interval)),
    }
    let isOver = false
    const say = () => isOver || this.#conditions.take(index, unanswered(PATIENCE))
    // A loop that was blocked as long has its timers before it hears of the answer.
    const stalled = setTimeout(() => setImmediate(say), pace.limit + interval + PATIENCE).unref()
    try {
      const { ended, longest } = await source.calls.awaitChange(probes.all, pace, config.persistent)
      if (longest > Math.max(interval, SLOW)) this.#saySlow(longest)
      this.#wasDisturbed = ended === 'changed'
      // A quiet source is at its full interval when it is looked at thoroughly.
      if (ended === 'quiet') this.#soon = interval
    } catch {
      // Ended, or there is no memory: the next pass says what is to be said.
    } finally {
      isOver = true
      clearTimeout(stalled)
    }
  }

  /** Says meanwhile if the source does not answer. */
  async #watchOver<T>(work: Promise<T>): Promise<T> {
    const watchdog = setInterval(() => setImmediate(() => this.#sayIfStalled()), PATIENCE / 5).unref()
    try {
      return await work
    } finally {
      clearInterval(watchdog)
    }
  }

  #sayIfStalled(): void {
    const { source, target, index } = this.#context
    const [ofSource, ofTarget] = [source.calls.unanswered, target.held.calls.unanswered]
    if (ofSource >= PATIENCE) this.#conditions.take(index, unanswered(ofSource))
    if (ofTarget >= PATIENCE) this.#conditions.stall(index, target.shown, seconds(ofTarget))
  }

  #sayIfSlow(): void {
    const { interval, quiet } = this.#context.config
    const took = performance.now() - this.#began - Math.max(quiet, TWO_TICKS)
    if (took > Math.max(interval, SLOW)) this.#saySlow(took)
    // One at the limit is not to say it again and again.
    else if (took < interval / 2) this.#saidSlow = false
  }

  #saySlow(took: number): void {
    if (this.#saidSlow) return
    this.#saidSlow = true
    warn(
      'INOTIFY_BRIDGE_SLOW_POLL',
      `looking at ${this.#context.source.path} took ${seconds(took)}, longer than the interval`,
      'Changes are seen as much later. Half of the time is left to the server.',
    )
  }
}

function unanswered(ms: number): Outcome {
  return lost(`it has not answered for ${seconds(ms)}`)
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}
