import { addAbortListener, EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadAddon } from '../addon.ts'
import { CoalescedTask } from '../coalesced_task.ts'
import { InotifyError, messageOf, printable } from '../errors.ts'
import { loadPart } from '../load_part.ts'
import { warn } from '../warning.ts'
import { processOf } from './actions/process_stat.ts'
import { ApplyState, type ReloadFailure } from './apply_state.ts'
import { type ChangeTrigger, changeTrigger } from './change_trigger.ts'
import { type Contents, heldAt, type Reading, shownKeys } from './contents.ts'
import { type ReloadConfig, type ReloadOptions, readOptions } from './options.ts'
import { Timers } from './timers.ts'
import { Unrest } from './unrest.ts'
import type { Work } from './work.ts'

/** The ms after which a mount that does not answer is reported. */
const PATIENCE = 5000
const STALLED = `no answer for ${PATIENCE / 1000} s: the server of its mount may have stopped; nothing is done until it goes on`

/** The events of a {@link Reloader}, with their arguments. */
export interface ReloaderEvents {
  /**
   * The action is done. `changed` names the keys that differ from the content in use, as their readers know them: `app.yaml`, relative to the path; whole paths if there are several `paths`. `digest` is the
   * SHA-256 of the content.
   */
  reload: [reload: { changed: string[]; digest: string }]
  /** The validation or the action has failed; at each try. */
  failed: [failure: ReloadFailure]
  /** After a failed validation the content in use is back: there is nothing to do. */
  recovered: []
  /**
   * A path is missing, or cannot be read or watched: once while that lasts. Or a part of the package could not be loaded: see {@link Reloader.ready}. Without a listener it is a process warning
   * (INOTIFY_BRIDGE_RELOAD).
   */
  error: [error: Error]
  /** The reloader is closed. */
  close: []
  /** @internal A program runs; `ended` resolves when it has been waited for: to how, if it was to go on and has ended by itself, else to ''. */
  child: [pid: number, ended: Promise<string>]
  /** @internal The program that is the action writes to its stdout or stderr. */
  output: [stream: Readable, name: 'stdout' | 'stderr']
  /** @internal A look is over, and all that it found has been told. */
  look: []
}

/** A running reload, made by {@link reload}. */
export class Reloader extends EventEmitter<ReloaderEvents> implements AsyncDisposable {
  /**
   * Resolves when the paths are watched and their content is known: changes from then on count. Rejects with EBADF if it is closed before, and with an {@link InotifyError} that 'error' reports as well if a
   * part of the package cannot be loaded (EMFILE; ENOENT: it was replaced): then it does nothing.
   */
  readonly ready: Promise<void>
  /** @internal Why the content is not known. */
  trouble: Error | undefined
  readonly #config: ReloadConfig
  // True once the paths are watched: from then on what a look finds is in use.
  #isWatching = false
  readonly #work: Promise<Work>
  readonly #hints: ChangeTrigger
  readonly #alarms: Timers
  readonly #unrest = new Unrest()
  readonly #turns = new CoalescedTask(() => this.#look())
  readonly #ending = new AbortController()
  #applyState: ApplyState | undefined
  // performance.now() of the next try of the same content. Needed as events come also for changes that change nothing.
  #retryAt = 0
  // The ms of the last reading.
  #took = 0
  #isAsked = false
  // True: something that may come to rest had not at the last look.
  #waits = false
  #closing: Promise<void> | undefined

  /** @internal Use {@link reload}. `once`: nothing is watched, and what the first {@link trigger} finds is acted upon whatever it is. */
  constructor(config: ReloadConfig, once = false) {
    super()
    // Else each look would fail, and none would be the last.
    loadAddon()
    this.#config = config
    const { action } = config
    // The action is a program that goes on: nothing is in use until the program is started with the present content.
    const isStarted = 'command' in action && action.restart === true
    // The process that has the pid now is meant.
    const meant = 'pid' in action ? processOf(action.pid) : undefined
    if ('pid' in action && meant === undefined) {
      const hint = `no process has the pid ${action.pid}: it must run when the reload begins`
      throw new InotifyError({ errno: 'ESRCH', syscall: 'reload', hint })
    }
    this.#alarms = new Timers(config, () => void this.#turns.run())
    // The first look follows the hints that come before the watches are set up.
    const hint = () => void (this.#isWatching && this.#alarms.changed())
    this.#hints = changeTrigger(config.paths, hint, (error) => this.#tell('error', error))
    if (once || isStarted) this.#applyState = new ApplyState(undefined)
    // After all that may throw: else nobody would hear of its failure.
    this.#work = loadPart(() => import('./work.ts')).then(({ workOf }) => workOf(config, meant))
    this.ready = this.#start(once)
    this.ready.catch(() => {})
    if (isStarted) this.ready.then(() => this.trigger()).catch(() => {})
  }

  /** The last 'failed', until it has passed; undefined if the present content is in use. */
  get failing(): ReloadFailure | undefined {
    return this.#applyState?.failing
  }

  /**
   * Looks now, without `delay`, and tries again what has failed. Resolves when that is over, and with it the reload that it caused; a failure is reported by
   * 'failed' and does not reject.
   * @throws InotifyError: EBADF: closed
   */
  async trigger(): Promise<void> {
    await this.ready
    this.#requireOpen()
    for (;;) {
      // For the look that begins now, or behind the action of one under way: that will set the time of the next try.
      this.#isAsked = true
      await this.#turns.run()
      if (!this.#waits || this.#ending.signal.aborted) return
      await this.#pause(this.#config.delay)
    }
  }

  /** Stops everything, a program that runs too. Idempotent. Nothing but 'close' follows the call. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#ending.abort()
      this.#alarms.close()
      const ended = this.#work.then(
        (work) => work.end(PATIENCE / 5),
        // The work could not be loaded, which `ready` reports.
        () => {},
      )
      await Promise.all([ended, this.#hints.close(), this.#turns.idle(), this.ready.catch(() => {})])
      this.#tell('close')
    })()
    return this.#closing
  }

  /** Calls {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #start(once: boolean): Promise<void> {
    await this.#work.catch((error: Error) => {
      this.#tell('error', error)
      throw error
    })
    if (!once) {
      // Watches before the read, so that no change falls between. Does not wait for a mount that has stopped answering.
      await Promise.race([this.#hints.follow([]), this.#pause(PATIENCE)])
      this.#isWatching = true
      if (this.#applyState === undefined) await this.#turns.run()
    }
    this.#requireOpen()
  }

  async #look(): Promise<void> {
    if (this.#ending.signal.aborted) return
    const state = this.#applyState
    const isBurst = this.#alarms.begin() && state !== undefined && !this.#isAsked
    if (this.#isAsked) this.#retryAt = 0
    this.#isAsked = false
    try {
      const found = await this.#read((reading) => this.#unrest.observe(reading, isBurst))
      if (this.#isWatching) void this.#hints.follow(found?.outward ?? [])
      const { waits, restless } = this.#unrest
      this.#waits = found !== undefined && waits
      // The first look. A missing path is not in use: its arrival is a change. So is content that does not hold still.
      if (state === undefined)
        this.#applyState = new ApplyState(found && heldAt(found, found.moving, undefined))
      else if (found !== undefined && !waits)
        await this.#take(state, heldAt(found, isBurst ? restless : found.moving, state.applied))
    } finally {
      const next = this.trouble === undefined ? this.#retryAt : performance.now() + this.#config.retry
      this.#alarms.looked(this.#took, this.#waits, (this.trouble ?? this.failing) ? next : undefined)
      this.#tell('look')
    }
  }

  async #take(state: ApplyState, now: Contents): Promise<void> {
    const verdict = state.judge(now, performance.now() >= this.#retryAt)
    if (verdict === 'recover') this.#tell('recovered')
    if (verdict !== 'act') return
    if ((await this.#work).validate !== undefined) {
      if (!(await this.#attempt('validate', state, now))) return
      const found = await this.#read((reading) => this.#unrest.observeAgain(reading))
      // The content is unknown now, which has been reported.
      if (found === undefined) return
      this.#waits = heldAt(found, this.#unrest.restless, now).digest !== now.digest
      // The validated content is no longer the present one.
      if (this.#waits) return
    }
    if (await this.#attempt('action', state, now))
      this.#tell('reload', { changed: state.succeeded(now), digest: now.digest })
  }

  async #attempt(stage: ReloadFailure['stage'], state: ApplyState, now: Contents): Promise<boolean> {
    const { signal: ending } = this.#ending
    const { [stage]: act } = await this.#work
    if (ending.aborted) return false
    const limit = new AbortController()
    const { timeout, retry } = this.#config
    // The timer holds the signal: AbortSignal.any() holds its sources weakly, and a timeout that was collected never comes.
    const timer = setTimeout(() => limit.abort(new Error(`timed out after ${timeout} ms`)), timeout)
    using _ = addAbortListener(ending, () => limit.abort(new Error('was ended')))
    try {
      const onChild = (pid: number, ended: Promise<string>) => this.emit('child', pid, ended)
      const onOutput = (stream: Readable, name: 'stdout' | 'stderr') => this.emit('output', stream, name)
      await act?.({ ...now, signal: limit.signal, onChild, onOutput })
      return !ending.aborted
    } catch (error) {
      if (ending.aborted) return false
      const { output = '' } = error as Partial<ReloadFailure>
      const failure = { stage, reason: messageOf(error), output }
      state.failed(now, failure)
      this.#retryAt = performance.now() + retry
      this.#tell('failed', failure)
      return false
    } finally {
      clearTimeout(timer)
    }
  }

  /** Reads the paths; undefined, and an 'error' with the reason, if they cannot be read. */
  async #read(observe: (reading: Reading) => void): Promise<Reading | undefined> {
    const { reader } = await this.#work
    // A blocked loop runs its timers before it hears of the answer.
    const check = () => reader.calls.unanswered < PATIENCE || this.#notRead('ETIMEDOUT', STALLED)
    const stalled = setInterval(() => setImmediate(check), PATIENCE / 5)
    const began = performance.now()
    try {
      const found = await reader.read()
      observe(found)
      const { restless } = this.#unrest
      const [moving] = shownKeys([...found.moving].filter((key) => restless.has(key)))
      const hint = `'${printable(moving ?? '')}' changes faster than it can be read: it is left as it was until it rests`
      if (moving === undefined) this.trouble = undefined
      else this.#notRead('EAGAIN', hint)
      return found
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#enterTrouble(error as Error)
      return undefined
    } finally {
      this.#took = performance.now() - began
      clearInterval(stalled)
    }
  }

  #notRead(errno: 'EAGAIN' | 'ETIMEDOUT', hint: string): void {
    this.#enterTrouble(new InotifyError({ errno, syscall: 'read', path: this.#config.paths[0], hint }))
  }

  #enterTrouble(error: Error): void {
    const isKnown = this.trouble?.message === error.message
    this.trouble = error
    if (!isKnown) this.#tell('error', error)
  }

  // Emits later: a listener that throws is an uncaught exception, not a failure of the work that tells; and one of once() may have heard
  // another error of the same turn.
  #tell<K extends keyof ReloaderEvents>(event: K, ...values: ReloaderEvents[K]): void {
    queueMicrotask(() => {
      if (event !== 'close' && this.#ending.signal.aborted) return
      const isUnheard = event === 'error' && this.listenerCount('error') === 0
      if (isUnheard) warn('INOTIFY_BRIDGE_RELOAD', `reload: ${messageOf(values[0])}`)
      else EventEmitter.prototype.emit.call(this, event, ...values)
    })
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#ending.signal }).catch(() => {})
  }

  #requireOpen(): void {
    if (!this.#ending.signal.aborted) return
    throw new InotifyError({ errno: 'EBADF', syscall: 'reload', hint: 'this reloader is closed' })
  }
}

/**
 * Turns changes of files into a signal, a command, an HTTP request or a rollout: after a validation, once for a burst, only if the content
 * differs, and tried again until it has worked. The content at the start is taken to be in use already. Promises: docs/semantics.md, S88 to S103.
 *
 * @throws TypeError: an option is wrong; the message names it
 * @throws AddonLoadError: the addon cannot be loaded
 * @throws InotifyError: ESRCH: no process has the pid; EACCES: the process is another user's, and /proc hides those (hidepid)
 *
 * @example
 * ```js
 * import { once } from 'node:events'
 * import { mkdtemp, rm, writeFile } from 'node:fs/promises'
 * import { reload } from 'inotify-bridge'
 *
 * const directory = await mkdtemp('/tmp/example-')
 * await writeFile(`${directory}/app.yaml`, 'color: red\n')
 * const reloader = reload({
 *   paths: [directory],
 *   validate: ['grep', '-q', 'color', `${directory}/app.yaml`],
 *   action: { command: ['echo', 'reloading'] },
 *   delay: 100,
 * })
 * reloader.on('failed', ({ stage, reason, output }) => console.error(stage, reason, output))
 * reloader.on('error', (error) => console.error(error.message))
 * await reloader.ready
 * await writeFile(`${directory}/app.yaml`, 'color: blue\n')
 * const [{ changed, digest }] = await once(reloader, 'reload')
 * console.log(changed, digest) // [ 'app.yaml' ] 5b0c...
 * await reloader.close()
 * await rm(directory, { recursive: true })
 * ```
 */
export function reload(options: ReloadOptions): Reloader {
  return new Reloader(readOptions(options))
}
