import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoalescedTask } from '../coalesced_task.ts'
import { InotifyError } from '../errors.ts'
import { loadPart } from '../load_part.ts'
import { warn } from '../warning.ts'
import type { Action } from './actions/action.ts'
import { requireProcess } from './actions/process_stat.ts'
import { ApplyState } from './apply_state.ts'
import { ChangeTrigger } from './change_trigger.ts'
import { type Contents, Unsettled } from './contents.ts'
import { ActionError, type ReloadFailure } from './failure.ts'
import { type ReloadConfig, type ReloadOptions, readOptions } from './options.ts'
import { Timers } from './timers.ts'
import type { Work } from './work.ts'

/** ms after which a mount that does not answer is said. */
const PATIENCE = 5000

export interface ReloaderEvents {
  /** The action is done. `changed` names the keys as their readers know them: `app.yaml`. */
  reload: [reload: { changed: string[]; digest: string }]
  /** The content is not good, or the action could not be done: at each try. */
  failed: [failure: ReloadFailure]
  /** The content that failed is gone, and what is there is what the action was last done for: there was nothing to do. */
  recovered: []
  /** A path is not there, or cannot be read or watched: once while that lasts; or nothing can be, see {@link Reloader.ready}. A process warning where nobody listens. */
  error: [error: Error]
  close: []
  /** @internal A program runs; `ended` resolves when it has been waited for. */
  child: [pid: number, ended: Promise<void>]
  /** @internal A look is over, and all that it found has been told. */
  look: []
}

/** A running reload, see {@link reload}. */
export class Reloader extends EventEmitter<ReloaderEvents> implements AsyncDisposable {
  /**
   * Resolves when the paths are watched and their content is known: changes from then on count. Rejects with EBADF if it is closed before, and with what 'error'
   * tells as well where a part of this package cannot be loaded (EMFILE; ENOENT: it was replaced), by which it does nothing.
   */
  readonly ready: Promise<void>
  readonly #config: ReloadConfig
  readonly #isWatched: boolean
  readonly #work: Promise<Work>
  readonly #hints: ChangeTrigger
  readonly #alarms: Timers
  readonly #turns = new CoalescedTask(() => this.#look())
  readonly #ending = new AbortController()
  #applyState: ApplyState | undefined
  #trouble: Error | undefined
  // performance.now(), before which the same content is not tried again: what failed is told of changes as well that change nothing.
  #retryAt = 0
  #isAsked = false
  #closing: Promise<void> | undefined

  /** @internal Use {@link reload}. `once`: nothing is watched, and what the first {@link trigger} finds is acted upon whatever it is. */
  constructor(config: ReloadConfig, once = false) {
    super()
    this.#config = config
    this.#isWatched = !once
    const { action } = config
    // Who has the pid now is meant.
    const meant = 'pid' in action ? requireProcess(action.pid) : undefined
    this.#alarms = new Timers(config, () => void this.#turns.run())
    this.#hints = new ChangeTrigger(config.paths, {
      hint: () => this.#alarms.changed(),
      trouble: (error) => this.#tellOf(error),
    })
    // Behind all that may throw: nobody would hear that it fails.
    this.#work = loadPart(() => import('./work.ts')).then(({ workOf }) => workOf(config, meant))
    if (once) this.#applyState = new ApplyState(undefined)
    this.ready = this.#start()
    this.ready.catch(() => {})
  }

  /** What keeps the content that is there now from being used: the last 'failed', until it has passed. */
  get failing(): ReloadFailure | undefined {
    return this.#applyState?.failing
  }

  /** @internal Why the content is not known. */
  get trouble(): Error | undefined {
    return this.#trouble
  }

  /**
   * Looks now, and tries again what has failed. Resolves when that is over, and with it the reload that it caused; a failure is told by
   * 'failed'.
   */
  async trigger(): Promise<void> {
    await this.ready
    this.#requireOpen()
    // For the look that begins now: an attempt under way will set when the next is due.
    this.#isAsked = true
    await this.#turns.run()
  }

  /** Ends all of it, a program that runs as well. Idempotent. Nothing is done or told after the call. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #start(): Promise<void> {
    await this.#work.catch((error: Error) => {
      this.#tellOf(error)
      throw error
    })
    this.#requireOpen()
    if (this.#isWatched) {
      // Before it is read, so that no change falls between; but a mount that has stopped answering is not waited for.
      await Promise.race([this.#hints.follow([]), this.#pause(PATIENCE)])
      const contents = await this.#read()
      // What is not there is not in use: when it comes, it is a change.
      this.#applyState = new ApplyState(contents)
      if (contents !== undefined) this.#hints.follow(contents.outward)
      this.#alarms.looked(this.#untilRetry)
    }
    this.#requireOpen()
    this.#tell('look')
  }

  async #look(): Promise<void> {
    // What has changed since the first look began may have come behind it.
    if (this.#applyState === undefined) await this.ready.catch(() => {})
    const state = this.#applyState
    if (state === undefined || this.#ending.signal.aborted) return
    this.#alarms.reset()
    if (this.#isAsked) this.#retryAt = 0
    this.#isAsked = false
    try {
      const now = await this.#read()
      if (this.#isWatched) this.#hints.follow(now?.outward ?? [])
      if (now !== undefined) await this.#take(state, now)
    } finally {
      this.#alarms.looked(this.#untilRetry)
      this.#tell('look')
    }
  }

  async #take(state: ApplyState, found: Contents): Promise<void> {
    for (let now = found; !this.#ending.signal.aborted; ) {
      const verdict = state.judge(now, performance.now() >= this.#retryAt)
      if (verdict === 'recover') {
        state.recovered()
        this.#tell('recovered')
      }
      if (verdict !== 'act') return
      if (!(await this.#isValid(state, now))) return
      const after = this.#config.validate === undefined ? now : await this.#read()
      // It is not known any more, which has been said.
      if (after === undefined) return
      if (after.digest === now.digest) return await this.#act(state, now)
      // What was found good is not what is there now: a burst of its own, with a trailing edge of its own.
      await this.#pause(this.#config.delay)
      const settled = await this.#read()
      if (settled === undefined) return
      now = settled
    }
  }

  async #isValid(state: ApplyState, now: Contents): Promise<boolean> {
    const { validation } = await this.#work
    return validation === undefined || (await this.#attempt('validate', state, now, validation))
  }

  async #act(state: ApplyState, now: Contents): Promise<void> {
    const { action } = await this.#work
    if (!(await this.#attempt('action', state, now, action))) return
    this.#tell('reload', { changed: state.succeeded(now), digest: now.digest })
  }

  async #attempt(
    stage: ReloadFailure['stage'],
    state: ApplyState,
    now: Contents,
    action: Action,
  ): Promise<boolean> {
    const { signal } = this.#ending
    if (signal.aborted) return false
    try {
      const onChild = (pid: number, ended: Promise<void>) => this.emit('child', pid, ended)
      await action({ digest: now.digest, timeout: this.#config.timeout, signal, onChild })
      return !signal.aborted
    } catch (error) {
      if (signal.aborted) return false
      const failure = failureOf(stage, error)
      state.failed(now, failure)
      this.#retryAt = performance.now() + this.#config.retry
      this.#tell('failed', failure)
      return false
    }
  }

  /** What the paths hold; undefined, and an 'error' that says why, if that cannot be known. */
  async #read(): Promise<Contents | undefined> {
    const stalled = setInterval(() => void this.#checkAnswers(), PATIENCE / 5)
    try {
      const contents = await this.#readSettled()
      this.#trouble = undefined
      return contents
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#enterTrouble(error as Error)
      return undefined
    } finally {
      clearInterval(stalled)
    }
  }

  async #readSettled(): Promise<Contents> {
    for (let tries = 1; ; tries++) {
      try {
        const { reader } = await this.#work
        return await reader.read()
      } catch (error) {
        if (!(error instanceof Unsettled)) throw error
        if (tries === 5) {
          const [path] = this.#config.paths
          const hint = `it changes faster than it can be read: ${error.message}`
          this.#enterTrouble(new InotifyError({ errno: 'EAGAIN', syscall: 'read', path, hint }))
        }
      }
      await this.#pause(this.#config.delay)
      this.#ending.signal.throwIfAborted()
    }
  }

  async #checkAnswers(): Promise<void> {
    const { unanswered } = await this.#work
    if (unanswered < PATIENCE) return
    const [path] = this.#config.paths
    const hint = `no answer for ${PATIENCE / 1000} s: the server of its mount may have stopped; nothing is done until it goes on`
    this.#enterTrouble(new InotifyError({ errno: 'ETIMEDOUT', syscall: 'read', path, hint }))
  }

  #enterTrouble(error: Error): void {
    const isKnown = this.#trouble?.message === error.message
    this.#trouble = error
    if (!isKnown) this.#tellOf(error)
  }

  #tellOf(error: Error): void {
    if (this.listenerCount('error') > 0) this.#tell('error', error)
    else if (!this.#ending.signal.aborted) warn('INOTIFY_BRIDGE_RELOAD', `reload: ${error.message}`)
  }

  // A listener that throws is an uncaught exception, not a failure of the work that this is part of.
  #tell<K extends keyof ReloaderEvents>(event: K, ...values: ReloaderEvents[K]): void {
    queueMicrotask(() => {
      if (event === 'close' || !this.#ending.signal.aborted)
        EventEmitter.prototype.emit.call(this, event, ...values)
    })
  }

  /** ms; undefined where nothing is to be tried again. */
  get #untilRetry(): number | undefined {
    if (this.#trouble !== undefined) return this.#config.retry
    return this.failing && Math.max(1, this.#retryAt - performance.now())
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#ending.signal }).catch(() => {})
  }

  #requireOpen(): void {
    if (!this.#ending.signal.aborted) return
    throw new InotifyError({ errno: 'EBADF', syscall: 'reload', hint: 'this reloader is closed' })
  }

  async #close(): Promise<void> {
    this.#ending.abort()
    this.#alarms.close()
    const ended = this.#work.then(
      (work) => work.end(PATIENCE / 5),
      // It could not be loaded, which `ready` says.
      () => {},
    )
    await Promise.all([ended, this.#hints.close(), this.#turns.idle(), this.ready.catch(() => {})])
    this.#tell('close')
  }
}

function failureOf(stage: ReloadFailure['stage'], error: unknown): ReloadFailure {
  const reason = error instanceof Error ? error.message : String(error)
  return { stage, reason, output: error instanceof ActionError ? error.output : '' }
}

/**
 * Turns changes of files into a signal, a command, a HTTP request or a rollout: validated, once for a burst, only where the content is
 * another, and tried again until it has worked. What is there at the start is taken to be in use already.
 *
 * @example
 * const reloader = reload({
 *   paths: ['/etc/nginx'],
 *   validate: ['nginx', '-t'],
 *   action: { signal: 'SIGHUP', process: 'nginx' },
 * })
 * reloader.on('failed', ({ stage, reason, output }) => console.error(stage, reason, output))
 *
 * @throws {TypeError} an option is wrong
 * @throws {InotifyError} ESRCH: the pid is nobody's
 */
export function reload(options: ReloadOptions): Reloader {
  return new Reloader(readOptions(options))
}
