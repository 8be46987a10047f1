import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { InotifyError } from '../errors.ts'
import { loadPart } from '../load_part.ts'
import type { MountWatch } from '../mounts/mount_watch.ts'
import { keysOf, textOf } from '../name_key.ts'
import type { Missing } from './copy/staged.ts'
import { type MirrorConfig, type MirrorOptions, readArguments } from './options.ts'
import type { Skipped } from './plan/tree.ts'
import type { Prepared } from './prepare.ts'
import type { SyncLoop } from './sync_loop.ts'
import type { Outcome } from './sync_pass.ts'

export type MirrorState = 'mirroring' | 'over-limit' | 'source-lost' | 'closed'

export interface MirrorEvents {
  /** The target has changed; `changed` names what did as its readers know it: `app.yaml`. */
  update: [update: { changed: string[]; generation: number }]
  /** `reason` is '' where the state needs none. */
  state: [state: MirrorState, reason: string]
  /**
   * An entry of the source is not in the target, or not in its present version: of a kind that is not mirrored, unreadable,
   * being written. Once while that lasts; tried again at every pass. `path` is relative to the source, absolute where there are several.
   */
  skipped: [skipped: Skipped]
  /**
   * The target cannot be written, or two sources have an entry of one name (EEXIST). Once for each condition, until it has passed; what
   * is there stays the last good version.
   */
  error: [error: Error]
  close: []
  /** @internal A look at a source is over, and all that it found has been told. */
  pass: []
}

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

/** What is known of one source. */
interface Known {
  state: 'mirroring' | 'over-limit' | 'source-lost'
  reason: string
  skipped: readonly Skipped[]
  errors: readonly InotifyError[]
  /** What was wanting of it at the last pass; undefined if all of it could be had. */
  lacking: Missing | undefined
  /** Whether a complete version of it has been in the target. */
  wasComplete: boolean
  /** Whether it is over the limits and the last version stays. */
  isHeld: boolean
}

/** What there is of a source in a target of which it has not been heard yet. */
const UNSEEN: Missing = { path: '', reason: 'has not been looked at yet', isPassing: true }

/** Before its first pass. */
const UNKNOWN: Known = {
  state: 'mirroring',
  reason: '',
  skipped: [],
  errors: [],
  lacking: UNSEEN,
  wasComplete: false,
  isHeld: false,
}

/** A running mirror, see {@link mirror}. */
export class Mirror extends EventEmitter<MirrorEvents> implements AsyncDisposable {
  readonly #config: MirrorConfig
  readonly #prepared: Prepared
  readonly #followers: readonly SyncLoop[]
  readonly #known: readonly Known[]
  readonly #mounts: MountWatch
  #state: MirrorState = 'mirroring'
  #reason = ''
  #generation = 0
  // From when on there may be listeners.
  #hasStarted = false
  #closing: Promise<void> | undefined
  readonly #onAbort = () => void this.close().catch(rethrow)

  private constructor(config: MirrorConfig, prepared: Prepared) {
    super()
    this.#config = config
    this.#prepared = prepared
    this.#known = prepared.passes.map(() => ({ ...UNKNOWN }))
    this.#followers = prepared.passes.map((context) =>
      prepared.follow(context, {
        passed: (outcome) => {
          this.#take(context.index, outcome)
          this.emit('pass')
        },
        failed: (error) => {
          this.#fail(context.index, error)
          this.emit('pass')
        },
        stalled: (reason) => this.#lose(context.index, reason),
        targetStalled: (ms) => this.#sayTargetStalled(context.index, ms),
      }),
    )
    prepared.publisher.lookAgain = (source) => void this.#followers[source]?.refresh().catch(rethrow)
    // Of no source, and over when it has been said: the very next thing is to mirror into what is there.
    prepared.publisher.moved = (error) => {
      for (const known of this.#known) Object.assign(known, { wasComplete: false, lacking: UNSEEN })
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
    return this.#state
  }

  /** @internal Why it is in this state. */
  get reason(): string {
    return this.#reason
  }

  /** What of the sources is not in the target, as of the last pass. */
  get skipped(): readonly Skipped[] {
    return this.#known.flatMap(({ skipped }) => skipped)
  }

  /** @internal What keeps the target from being what the sources are, as of the last pass. */
  get errors(): readonly InotifyError[] {
    return this.#known.flatMap(({ errors }) => errors)
  }

  /**
   * @internal What was found wanting at the last pass, first of all what will not come by itself, of sources of which no complete version
   * has ever been in the target.
   */
  get lacking(): Missing | undefined {
    const all = this.#known.flatMap(({ lacking, wasComplete }) => (wasComplete || !lacking ? [] : [lacking]))
    return all.find(({ isPassing }) => !isPassing) ?? all[0]
  }

  /** @internal Whether a source is over the limits and the last version of it stays. */
  get isHeld(): boolean {
    return this.#known.some(({ isHeld }) => isHeld)
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

  #take(source: number, outcome: Outcome): void {
    const known = this.#known[source] as Known
    this.#complete(source, outcome)
    if (outcome.found === 'lost') {
      this.#lose(source, outcome.reason)
    } else if (outcome.found === 'torn') {
      const torn = { path: this.#shown(source, outcome.path), reason: outcome.reason }
      // The others are as they were when a pass last came through.
      this.#skip(known, [...known.skipped.filter((other) => other.path !== torn.path), torn])
    } else {
      const { over, changed, failures, isHeld } = outcome
      known.isHeld = isHeld
      this.#enter(source, over === undefined ? 'mirroring' : 'over-limit', over ?? '')
      if (changed !== undefined) this.emit('update', { changed, generation: ++this.#generation })
      this.#skip(
        known,
        outcome.skipped.map(({ path, reason }) => ({ path: this.#shown(source, path), reason })),
      )
      this.#report(known, failures)
    }
  }

  /** Notes what is wanting of a source, and which sources are complete in the target: one may have waited for this one to be. */
  #complete(source: number, outcome: Outcome): void {
    const known = this.#known[source] as Known
    const lacking = lackingIn(outcome)
    known.lacking = lacking && { ...lacking, path: this.#shown(source, lacking.path) }
    if (!this.#prepared.publisher.isUp) return
    for (const each of this.#known) each.wasComplete ||= each.lacking === undefined
  }

  #fail(source: number, error: unknown): void {
    if (!(error instanceof InotifyError)) throw error
    this.#report(this.#known[source] as Known, [error])
  }

  #sayTargetStalled(source: number, ms: number): void {
    if (!this.#hasStarted) return
    const hint = `it has not answered for ${Math.round(ms / 1000)} s, and nothing is mirrored until it does: best is a target on a tmpfs`
    const path = this.#prepared.target.shown
    this.#fail(source, new InotifyError({ errno: 'ETIMEDOUT', syscall: 'mirror', path, hint }))
  }

  /** @param path of keys, beneath the source */
  #shown(source: number, path: string): string {
    const text = textOf(path)
    return this.#known.length === 1 ? text : join(this.#config.sources[source] ?? '', text)
  }

  #lose(source: number, reason: string): void {
    this.#enter(source, 'source-lost', reason)
    this.#prepared.publisher.goOnWithout(source, this.#config.sources[source] ?? '')
  }

  /** The state of the whole is that of the source that is worst off. */
  #enter(source: number, state: Known['state'], reason: string): void {
    Object.assign(this.#known[source] as Known, { state, reason })
    const worst = (['source-lost', 'over-limit', 'mirroring'] as const).find((each) =>
      this.#known.some((known) => known.state === each),
    )
    if (worst === undefined) return
    const index = this.#known.findIndex((known) => known.state === worst)
    const why = this.#known[index]?.reason ?? ''
    const isNamed = this.#known.length > 1 && why !== ''
    this.#enterWhole(worst, isNamed ? `${this.#config.sources[index]}: ${why}` : why)
  }

  #enterWhole(state: MirrorState, reason: string): void {
    this.#reason = reason
    if (state === this.#state) return
    this.#state = state
    this.emit('state', state, reason)
  }

  #skip(known: Known, skipped: readonly Skipped[]): void {
    const before = new Set(known.skipped.map(({ path, reason }) => `${path}\n${reason}`))
    known.skipped = skipped
    for (const entry of skipped)
      if (!before.has(`${entry.path}\n${entry.reason}`)) this.emit('skipped', entry)
  }

  #report(known: Known, errors: readonly InotifyError[]): void {
    // Of any: two sources have an error in common where both have an entry.
    const told = new Set(this.errors.map(conditionOf))
    known.errors = errors
    for (const error of errors) {
      const condition = conditionOf(error)
      if (!told.has(condition)) this.emit('error', error)
      told.add(condition)
    }
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
      this.#enterWhole('closed', '')
      this.emit('close')
    }
  }
}

/** What a pass has found wanting. */
function lackingIn(outcome: Outcome): Missing | undefined {
  if (outcome.found === 'source') return outcome.lacking
  if (outcome.found === 'lost') return { path: '', reason: outcome.reason, isPassing: false }
  return { path: outcome.path, reason: outcome.reason, isPassing: true }
}

/** What errors speak of that are to be told once: of a full target each of the entries that do not fit says the same, and they are others at each pass. */
function conditionOf({ code, path }: InotifyError): string {
  const isOfTarget = ['ENOSPC', 'EDQUOT', 'EROFS'].includes(code)
  return isOfTarget ? code : `${code} ${path && withoutVersions(path)}`
}

/** A path in which a generation is called as its readers call it: its own name is another in each version, and what fails does not end with it. */
function withoutVersions(path: string): string {
  return path.replaceAll(/(?<=^|\/)\.\.[^/]+/g, '..data')
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
