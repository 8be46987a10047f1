import { EventEmitter } from 'node:events'
import { InotifyError } from '../errors.ts'
import { type MirrorConfig, type MirrorOptions, readArguments } from './options.ts'
import { type Outcome, type PassContext, Passes } from './pass.ts'
import { prepare } from './setup.ts'
import { removeIfEmpty } from './target.ts'
import type { Skipped } from './tree.ts'

export type MirrorState = 'mirroring' | 'over-limit' | 'source-lost' | 'closed'

export interface MirrorEvents {
  /** The target has changed; `changed` names what did as its readers know it: `app.yaml`. */
  update: [update: { changed: string[]; generation: number }]
  /** `reason` is '' where the state needs none. */
  state: [state: MirrorState, reason: string]
  /**
   * An entry of the source is not in the target, or not in its present version: of a kind that is not mirrored, unreadable,
   * being written. Once while that lasts; tried again at every pass.
   */
  skipped: [skipped: Skipped]
  /** The target cannot be written. Once for each condition, until it has passed; what is there stays the last good version. */
  error: [error: Error]
  close: []
}

/**
 * In an AtomicWriter's directory most passes look at `..data` only, and each eighth at every file: for those who edit in
 * place, and for a host whose clock gives two changes one ctime. At the default interval as often as Kata looks at all.
 */
const THOROUGH_EVERY = 8

/**
 * Keeps a copy of `source`, a directory on a mount that delivers no events, in `target`, where every change arrives as a
 * rename: watchers get true inotify events, and readers see the old version or the new one, never part of one. The
 * target belongs to the mirror: what is in the way there is replaced.
 *
 * Resolves after the first pass; rejects if the source is not there or the target cannot be written.
 */
export async function mirror(
  source: string | string[],
  target: string,
  options: MirrorOptions = {},
): Promise<Mirror> {
  return Mirror.start(readArguments(source, target, options, process.env))
}

/** A running mirror, see {@link mirror}. */
export class Mirror extends EventEmitter<MirrorEvents> implements AsyncDisposable {
  readonly #context: PassContext
  readonly #passes: Passes
  #state: MirrorState = 'mirroring'
  #skipped: readonly Skipped[] = []
  #generation = 0
  /** Conditions that have been reported and last. */
  #reported = new Set<string>()
  #count = 0
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined
  readonly #onAbort = () => void this.close().catch(rethrow)

  private constructor(context: PassContext) {
    super()
    this.#context = context
    this.#passes = new Passes(context)
  }

  /** @internal Use {@link mirror}. */
  static async start(config: MirrorConfig): Promise<Mirror> {
    config.signal?.throwIfAborted()
    const mirror = new Mirror(await prepare(config))
    try {
      // The first pass has no listeners, so that an 'error' in it is thrown here.
      await mirror.#begin(true)
      config.signal?.throwIfAborted()
    } catch (error) {
      // An aborted start is closed. One that failed leaves to the next what it found, which may be in use. Either may fail for
      // the same reason as the pass, which is the one to tell.
      const { inherited } = mirror.#context
      mirror.#closing = mirror.#shutDown(inherited && !config.signal?.aborted ? 'abandon' : 'remove')
      await mirror.#closing.catch(() => {})
      throw error
    }
    config.signal?.addEventListener('abort', mirror.#onAbort, { once: true })
    return mirror
  }

  get state(): MirrorState {
    return this.#state
  }

  /** What of the source is not in the target, as of the last pass. */
  get skipped(): readonly Skipped[] {
    return this.#skipped
  }

  /** Runs a pass now. If one is running, that one may have looked too early: resolves after the next. */
  refresh(): Promise<void> {
    if (this.#closing !== undefined) {
      return Promise.reject(
        new InotifyError({ errno: 'EBADF', syscall: 'refresh', hint: 'the mirror is closed' }),
      )
    }
    // Between the end of a pass and the beginning of #next there is an instant in which none is running.
    if (this.#running === undefined && this.#next === undefined) return this.#begin(true)
    this.#next ??= this.#afterThis()
    return this.#next
  }

  /** Stops after the pass that is running, and removes from the target what the mirror made there unless `keep`. */
  close({ keep = false }: { keep?: boolean } = {}): Promise<void> {
    this.#closing ??= this.#shutDown(keep ? 'keep' : 'remove')
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Starts a pass, after which comes the next, `interval` from now: the schedule does not drift with their length. */
  #begin(thorough: boolean): Promise<void> {
    clearTimeout(this.#timer)
    const began = performance.now()
    this.#running = this.#pass(thorough).finally(() => {
      this.#running = undefined
      if (this.#closing === undefined)
        this.#schedule(began + this.#context.config.interval - performance.now())
    })
    return this.#running
  }

  #schedule(delay: number): void {
    this.#timer = setTimeout(
      () => void this.#begin(++this.#count % THOROUGH_EVERY === 0).catch(rethrow),
      Math.max(0, delay),
    )
    if (!this.#context.config.persistent) this.#timer.unref()
  }

  async #afterThis(): Promise<void> {
    // Its failure is for those who await it.
    await this.#running?.catch(() => {})
    this.#next = undefined
    if (this.#closing === undefined) await this.#begin(true)
  }

  async #pass(thorough: boolean): Promise<void> {
    let outcome: Outcome
    try {
      outcome = await this.#passes.run(thorough)
    } catch (error) {
      if (!(error instanceof InotifyError)) throw error
      this.#report([error])
      return
    }
    if (outcome.found === 'lost') this.#enter('source-lost', outcome.reason)
    if (outcome.found === 'torn') {
      const { path, reason } = outcome
      // The others are as they were when a pass last came through.
      this.#skip([...this.#skipped.filter((other) => other.path !== path), { path, reason }])
    }
    if (outcome.found !== 'source') return
    const { over, skipped, changed, failures } = outcome
    this.#enter(over === undefined ? 'mirroring' : 'over-limit', over ?? '')
    if (changed !== undefined) this.emit('update', { changed, generation: ++this.#generation })
    this.#skip(skipped)
    this.#report(failures)
  }

  #enter(state: MirrorState, reason: string): void {
    if (state === this.#state) return
    this.#state = state
    this.emit('state', state, reason)
  }

  #skip(skipped: readonly Skipped[]): void {
    const known = new Set(this.#skipped.map(({ path, reason }) => `${path}\n${reason}`))
    this.#skipped = skipped
    for (const entry of skipped) if (!known.has(`${entry.path}\n${entry.reason}`)) this.emit('skipped', entry)
  }

  #report(errors: readonly InotifyError[]): void {
    const before = this.#reported
    const keyOf = ({ code, path }: InotifyError) => `${code} ${path}`
    this.#reported = new Set(errors.map(keyOf))
    for (const error of errors) if (!before.has(keyOf(error))) this.emit('error', error)
  }

  async #shutDown(content: 'remove' | 'keep' | 'abandon'): Promise<void> {
    const { config, target, staging } = this.#context
    clearTimeout(this.#timer)
    config.signal?.removeEventListener('abort', this.#onAbort)
    await this.#running?.catch(() => {})
    try {
      if (content === 'abandon') return await staging.abandon()
      const failures = content === 'keep' ? [] : await this.#passes.withdraw()
      await staging.remove()
      if (content === 'remove' && staging.createdTarget) await removeIfEmpty(config.target)
      if (failures[0] !== undefined) throw failures[0]
    } finally {
      await target.held.close()
      this.#enter('closed', '')
      this.emit('close')
    }
  }
}

/** Makes an error in a pass that nobody awaits, a listener's for one, an uncaught exception, as in any EventEmitter. */
function rethrow(error: unknown): void {
  process.nextTick(() => {
    throw error
  })
}
