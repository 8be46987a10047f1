import { EventEmitter } from 'node:events'
import { InotifyError } from '../errors.ts'
import { loadPart } from '../load_part.ts'
import type { MountWatch } from '../mounts/mount_watch.ts'
import { keysOf } from '../name_key.ts'
import { Conditions } from './conditions.ts'
import type { Missing } from './copy/staged.ts'
import type { MirrorEvents, MirrorState } from './events.ts'
import { type MirrorConfig, type MirrorOptions, readArguments } from './options.ts'
import type { Skipped } from './plan/tree.ts'
import type { Prepared } from './prepare.ts'
import type { SyncLoop } from './sync_loop.ts'

/**
 * Keeps a copy of `source`, which is on a mount that delivers no events, in `target`, where every change arrives as a
 * rename: watchers get true inotify events, and readers see the old version or the new one, never part of one. The
 * target belongs to the mirror: what is in the way there is replaced.
 *
 * A source is a directory, or a regular file, whose target is the path of a file. Several are merged into one directory; the keys of
 * several ConfigMaps then change together, behind one `..data`.
 *
 * Resolves after the first pass; rejects if a source is not there, if two of them have an entry of the same name, or the target
 * cannot be written.
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
  readonly #prepared: Prepared
  readonly #followers: readonly SyncLoop[]
  readonly #conditions: Conditions
  readonly #mounts: MountWatch
  // From when on there may be listeners.
  #hasStarted = false
  #closing: Promise<void> | undefined
  readonly #onAbort = () => void this.close().catch(rethrow)

  private constructor(config: MirrorConfig, prepared: Prepared) {
    super()
    this.#config = config
    this.#prepared = prepared
    this.#conditions = new Conditions(config.sources, prepared.publisher, (event, ...values) => {
      this.emit(event, ...(values as never))
    })
    this.#followers = prepared.passes.map((context) =>
      prepared.follow(context, {
        passed: (outcome) => {
          this.#conditions.take(context.index, outcome)
          this.emit('pass')
        },
        failed: (error) => {
          this.#conditions.fail(context.index, error)
          this.emit('pass')
        },
        stalled: (reason) => this.#conditions.lose(context.index, reason),
        targetStalled: (ms) => this.#sayTargetStalled(context.index, ms),
      }),
    )
    prepared.publisher.lookAgain = (source) => void this.#followers[source]?.refresh().catch(rethrow)
    // Of no source, and over when it has been said: the very next thing is to mirror into what is there.
    prepared.publisher.moved = (error) => {
      this.#conditions.moved()
      this.emit('error', error)
    }
    // What is mounted over a source, or unmounted, is seen by nothing that is held.
    this.#mounts = prepared.watchMounts((bytes) => {
      const points = bytes.map(keysOf)
      for (const [index, { rules }] of prepared.passes.entries())
        if (
          [...rules.sources, prepared.target.shown].some((path) =>
            points.some((point) => concerns(point, path)),
          )
        )
          this.#followers[index]?.disturb()
    })
  }

  /** @internal Use {@link mirror}. */
  static async start(config: MirrorConfig): Promise<Mirror> {
    const { signal } = config
    signal?.throwIfAborted()
    // Three quarters of the room, which few of those need who import the package.
    const { prepare } = await loadPart(() => import('./prepare.ts'))
    signal?.throwIfAborted()
    const mirror = new Mirror(config, await prepare(config))
    try {
      await mirror.#mounts.open()
      // The first passes have no listeners, so that an 'error' in one is thrown here.
      await orAborted(Promise.all(mirror.#followers.map((follower) => follower.begin())), signal)
    } catch (error) {
      // A start that failed, or was aborted, leaves to the next what it found, which may be in use. The end may fail for the same
      // reason as the pass, which is the one to tell.
      mirror.#closing = mirror.#shutDown(mirror.#prepared.inherited ? 'keep' : 'remove')
      await mirror.#closing.catch(() => {})
      throw error
    }
    mirror.#hasStarted = true
    config.signal?.addEventListener('abort', mirror.#onAbort, { once: true })
    return mirror
  }

  get state(): MirrorState {
    return this.#conditions.state
  }

  /** @internal Why it is in this state. */
  get reason(): string {
    return this.#conditions.reason
  }

  /** What of the sources is not in the target, as of the last pass. */
  get skipped(): readonly Skipped[] {
    return this.#conditions.skipped
  }

  /** @internal What keeps the target from being what the sources are, as of the last pass. */
  get errors(): readonly InotifyError[] {
    return this.#conditions.errors
  }

  /** @internal See {@link Conditions.lacking}. */
  get lacking(): Missing | undefined {
    return this.#conditions.lacking
  }

  /** @internal Whether a source is over the limits and the last version of it stays. */
  get isHeld(): boolean {
    return this.#conditions.isHeld
  }

  /** Runs a pass now. If one is running, that one may have looked too early: resolves after the next. */
  async refresh(): Promise<void> {
    if (this.#closing !== undefined)
      throw new InotifyError({ errno: 'EBADF', syscall: 'refresh', hint: 'the mirror is closed' })
    await Promise.all(this.#followers.map((follower) => follower.refresh()))
  }

  /** Stops after the pass that is running, and removes from the target what the mirror made there unless `keep`. */
  close({ keep = false }: { keep?: boolean } = {}): Promise<void> {
    this.#closing ??= this.#shutDown(keep ? 'keep' : 'remove')
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #sayTargetStalled(source: number, ms: number): void {
    if (!this.#hasStarted) return
    const hint = `it has not answered for ${Math.round(ms / 1000)} s, and nothing is mirrored until it does: best is a target on a tmpfs`
    const path = this.#prepared.target.shown
    this.#conditions.fail(source, new InotifyError({ errno: 'ETIMEDOUT', syscall: 'mirror', path, hint }))
  }

  async #shutDown(content: 'remove' | 'keep'): Promise<void> {
    const { target, publisher } = this.#prepared
    this.#config.signal?.removeEventListener('abort', this.#onAbort)
    this.#mounts.close()
    await Promise.all(this.#followers.map((follower) => follower.end()))
    try {
      await publisher.settled()
      if (content !== 'remove') return await publisher.leave()
      const failures = await publisher.withdraw()
      await target.staging.remove()
      await target.removeIfOwn()
      if (failures[0] !== undefined) throw failures[0]
    } finally {
      await this.#prepared.close()
      this.#conditions.close()
      this.emit('close')
    }
  }
}

/** Whether a path leads through the mount point, or to where it is. */
function concerns(point: string, path: string): boolean {
  const isBeneath = (a: string, b: string) => `${a}/`.startsWith(b === '/' ? b : `${b}/`)
  return isBeneath(path, point) || isBeneath(point, path)
}

/** Waits for the work, or throws the reason of the signal. */
async function orAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal?.reason)
  })
  signal?.addEventListener('abort', onAbort)
  try {
    if (signal?.aborted) onAbort()
    await Promise.race([aborted, work])
    signal?.throwIfAborted()
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Makes an error that nobody awaits an uncaught exception, as in any EventEmitter. */
function rethrow(error: unknown): void {
  process.nextTick(() => {
    throw error
  })
}
