import { EventEmitter, once } from 'node:events'
import { type InspectOptions, inspect } from 'node:util'
import { InotifyError, refuseUnknown } from '../errors.ts'
import { loadPart } from '../load_part.ts'
import { type MirrorEvents, type MirrorState, rethrow } from './events.ts'
import { type MirrorConfig, type MirrorOptions, readArguments } from './options.ts'
import type { Missing, Skipped } from './plan/tree.ts'
import type { Prepared, Summary } from './prepare.ts'

/**
 * Copies `source`, on a mount that delivers no events, to `target`, best on a tmpfs, and keeps the copy current by polling. Every change arrives in the target as a
 * rename: watchers get true inotify events, and readers see the old version or the new one, never part of one. The target belongs to the mirror: entries in the way there are replaced. It is made if it
 * does not exist; its parent must.
 *
 * A source is a directory, or a regular file, whose target is the path of a file; a source that is a link is followed anew in each pass. Several sources are merged into one directory; the keys of
 * several ConfigMaps then change together, behind one `..data`.
 *
 * Resolves after the first pass: read {@link Mirror.skipped} and {@link Mirror.state} before you rely on the target. Process warnings (`InotifyBridgeWarning`): INOTIFY_BRIDGE_TARGET, the target is no
 * tmpfs, so that secrets reach a disk; INOTIFY_BRIDGE_SLOW_POLL, a pass takes longer than the interval and 250 ms.
 *
 * @throws TypeError: an argument or option is wrong
 * @throws InotifyError: ENOENT, ENOTDIR, EACCES ... (`open`): a source or the target cannot be opened; EEXIST: two sources have an entry of one name (`path` is the second, `hint` names the
 *   first); EINVAL: the target is a source, in it, or around it; EISDIR: the source is a file and the target a directory; EBUSY: another mirror writes to this target; ENOSPC, EDQUOT, EACCES ...: the first
 *   pass could not write the target
 * @throws AddonLoadError: there is no addon for this platform
 * @throws the signal's reason, if it aborts before the first pass is over; the target stays as it was
 *
 * @example
 * ```js
 * import { once } from 'node:events'
 * import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
 * import { mirror } from 'inotify-bridge'
 *
 * const source = await mkdtemp('/tmp/example-')
 * const target = await mkdtemp('/dev/shm/example-')
 * await writeFile(`${source}/app.yaml`, 'color: red\n')
 *
 * const mirrored = await mirror(source, target)
 * mirrored.on('error', (error) => console.error(error.message))
 *
 * await writeFile(`${source}/app.yaml`, 'color: green\n')
 * const [{ changed, generation }] = await once(mirrored, 'update')
 * console.log(changed, generation, await readFile(`${target}/app.yaml`, 'utf8')) // [ 'app.yaml' ] 2 color: green
 *
 * await mirrored.close()
 * await rm(source, { recursive: true })
 * await rm(target, { recursive: true })
 * ```
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
  readonly #config: MirrorConfig
  // Set before anybody has the mirror.
  #prepared!: Prepared
  #closing: Promise<void> | undefined
  readonly #onAbort = () => void this.close().catch(rethrow)

  private constructor(config: MirrorConfig) {
    super()
    this.#config = config
  }

  /** @internal Use {@link mirror}. */
  static async start(config: MirrorConfig): Promise<Mirror> {
    const { signal } = config
    signal?.throwIfAborted()
    // Loaded here: three quarters of the memory, which few importers of the package need.
    const { prepare } = await loadPart(() => import('./prepare.ts'))
    signal?.throwIfAborted()
    const mirror = new Mirror(config)
    const prepared = await prepare(config, mirror)
    mirror.#prepared = prepared
    try {
      await prepared.mounts.open()
      // The first passes have no listeners, so that an 'error' in one is thrown here.
      await orAborted(Promise.all(prepared.loops.map((loop) => loop.begin())), signal)
    } catch (error) {
      // A start that failed, or was aborted, leaves to the next what it found, which may be in use. The end may fail for the same
      // reason as the pass, which is the one to tell.
      mirror.#closing = mirror.#shutDown(prepared.inherited ? 'keep' : 'remove')
      await mirror.#closing.catch(() => {})
      throw error
    }
    prepared.conditions.begin()
    signal?.addEventListener('abort', mirror.#onAbort, { once: true })
    // Between the first pass and here it is nobody's.
    if (signal?.aborted) mirror.#onAbort()
    return mirror
  }

  /** The present state; of several sources, that of the one that is worst off. */
  get state(): MirrorState {
    return this.#prepared.conditions.state
  }

  /** @internal The reason for the state. */
  get reason(): string {
    return this.#prepared.conditions.reason
  }

  /**
   * The entries of the sources that are not in the target, or not in their present version, as of the last pass. Keys are named as readers know them: `..data/app.yaml`.
   */
  get skipped(): readonly Skipped[] {
    return this.#prepared.conditions.skipped
  }

  /** @internal */
  get summary(): Summary {
    return this.#prepared.summary
  }

  /** @internal The errors that keep the target from being what the sources are, as of the last pass. */
  get errors(): readonly InotifyError[] {
    return this.#prepared.conditions.errors
  }

  /** @internal See {@link Conditions.lacking}. */
  get lacking(): Missing | undefined {
    return this.#prepared.conditions.lacking
  }

  /** @internal */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const { sources, target } = this.summary
    return `Mirror ${inspect({ state: this.state, sources, target, skipped: this.skipped.length }, options)}`
  }

  /** @internal True: a source is over the limits and its last version stays. */
  get isHeld(): boolean {
    return this.#prepared.conditions.isHeld
  }

  /**
   * Runs a pass now. If one is running, that one may have looked too early: resolves after the next. Resolves also if the source is lost: look at {@link state}.
   * @throws InotifyError: EBADF: closed; and the error of a pass if nobody listens to `'error'`
   */
  async refresh(): Promise<void> {
    if (this.#closing !== undefined)
      throw new InotifyError({ errno: 'EBADF', syscall: 'refresh', hint: 'the mirror is closed' })
    await Promise.all(this.#prepared.loops.map((loop) => loop.refresh()))
  }

  /**
   * Waits for the pass that is running (at most half a second for one that gets no answer: its thread is left behind, with the process warning INOTIFY_BRIDGE_LEFT_BEHIND) and removes from the target what the
   * mirror made. `keep`: the content stays, with a note (`.inotify-bridge-*`) by which the next mirror of the target takes over. Idempotent: the first call decides.
   * @throws InotifyError: something could not be removed
   */
  close(options: { keep?: boolean } = {}): Promise<void> {
    refuseUnknown('options', options, ['keep'])
    this.#closing ??= this.#shutDown(options.keep ? 'keep' : 'remove')
    return this.#closing
  }

  /** Calls {@link close}, without `keep`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #shutDown(content: 'remove' | 'keep'): Promise<void> {
    const { target, publisher, loops, mounts, relayed, conditions } = this.#prepared
    this.#config.signal?.removeEventListener('abort', this.#onAbort)
    mounts.close()
    relayed?.close()
    await Promise.all(loops.map((loop) => loop.end()))
    try {
      if (content !== 'remove') return await publisher.leave()
      const failures = await publisher.withdraw()
      await target.opened.staging.remove()
      await target.removeIfOwn()
      if (failures[0] !== undefined) throw failures[0]
    } finally {
      await this.#prepared.close()
      conditions.close()
      this.emit('close')
    }
  }
}

/** Waits for the work, or throws the reason of the signal. */
async function orAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return void (await work)
  const over = new AbortController()
  try {
    await Promise.race([work, signal.aborted || once(signal, 'abort', { signal: over.signal })])
    signal.throwIfAborted()
  } finally {
    over.abort()
  }
}
