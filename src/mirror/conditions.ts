import type { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { InotifyError } from '../errors.ts'
import { textOf } from '../name_key.ts'
import type { MirrorEvents, MirrorState } from './events.ts'
import type { Missing, Skipped } from './plan/tree.ts'
import type { Outcome, SourceState } from './sync_pass.ts'
import type { Publisher } from './target/publisher.ts'

/** The facts about one source. */
interface Known {
  state: SourceState
  reason: string
  isHeld: boolean
  skipped: readonly Skipped[]
  failures: readonly InotifyError[]
  lacking: Missing | undefined
  /** True: a complete version of the source has been in the target. */
  wasComplete: boolean
}

/** The state of a source that has not been looked at since the target is this one. */
const UNSEEN: Missing = { path: '', reason: 'has not been looked at yet', isPassing: true }

/** Knows the state of each source, and so of the whole: why the target is not what the sources are. Tells each trouble once while it lasts. */
export class Conditions {
  readonly #sources: readonly string[]
  readonly #publisher: Pick<Publisher, 'isUp' | 'goOnWithout'>
  readonly #events: EventEmitter<MirrorEvents>
  readonly #known: readonly Known[]
  #state: MirrorState = 'mirroring'
  #reason = ''
  #generation = 0
  #hasListeners = false

  constructor(
    sources: readonly string[],
    publisher: Pick<Publisher, 'isUp' | 'goOnWithout'>,
    events: EventEmitter<MirrorEvents>,
  ) {
    this.#sources = sources
    this.#publisher = publisher
    this.#events = events
    this.#known = sources.map(() => ({
      state: 'mirroring',
      reason: '',
      isHeld: false,
      skipped: [],
      failures: [],
      lacking: UNSEEN,
      wasComplete: false,
    }))
  }

  get state(): MirrorState {
    return this.#state
  }

  /** The reason for the state; '' if it needs none. */
  get reason(): string {
    return this.#reason
  }

  /** The entries of the sources that are not in the target, as of the last pass. */
  get skipped(): readonly Skipped[] {
    return this.#known.flatMap(({ skipped }) => skipped)
  }

  /** The errors that keep the target from being what the sources are, as of the last pass. */
  get errors(): readonly InotifyError[] {
    return this.#known.flatMap(({ failures }) => failures)
  }

  /** The entry wanting at the last pass, first one that will not come by itself, of a source whose complete version has never been in the target. */
  get lacking(): Missing | undefined {
    const all = this.#known.flatMap(({ lacking, wasComplete }) => (wasComplete || !lacking ? [] : [lacking]))
    return all.find(({ isPassing }) => !isPassing) ?? all[0]
  }

  /** True: a source is over the limits and its last version stays. */
  get isHeld(): boolean {
    return this.#known.some(({ isHeld }) => isHeld)
  }

  /** Takes what a pass over a source has found, or that the source cannot be had. What the outcome does not say is as it was. */
  take(source: number, outcome: Outcome): void {
    const known = this.#known[source] as Known
    const { state, reason, isHeld = known.isHeld, changed, skipped, failures } = outcome
    const lacking = outcome.lacking && this.#shown(source, outcome.lacking)
    Object.assign(known, { lacking, isHeld, ...(state && { state, reason }) })
    // Another source may have waited for this one to be complete.
    if (this.#publisher.isUp) for (const each of this.#known) each.wasComplete ||= each.lacking === undefined
    this.#enterWorst()
    if (state === 'source-lost') this.#publisher.goOnWithout(source, this.#sources[source] ?? '')
    if (changed !== undefined) this.#events.emit('update', { changed, generation: ++this.#generation })
    if (skipped !== undefined)
      this.#skip(
        known,
        skipped.map((each) => this.#shown(source, each)),
      )
    else if (state === undefined && lacking !== undefined)
      // The others are as they were when a pass last came through.
      this.#skip(known, [...known.skipped.filter(({ path }) => path !== lacking.path), lacking])
    if (failures !== undefined) this.#report(known, failures)
  }

  /** A pass over a source has failed. */
  fail(source: number, error: unknown): void {
    if (!(error instanceof InotifyError)) throw error
    this.#report(this.#known[source] as Known, [error])
  }

  /** The target has not answered for a while. */
  stall(source: number, target: string, time: string): void {
    // The caller has no listeners before the first passes are over.
    if (!this.#hasListeners) return
    const hint = `it has not answered for ${time}, and nothing is mirrored until it does: best is a target on a tmpfs`
    this.fail(source, new InotifyError({ errno: 'ETIMEDOUT', syscall: 'mirror', path: target, hint }))
  }

  /** All that a pass has found, or its failure, has been told. */
  endPass(): void {
    this.#events.emit('pass')
  }

  /** The first passes are over, and there may be listeners. */
  begin(): void {
    this.#hasListeners = true
  }

  /** The target is another, in which nothing has been seen. */
  moved(): void {
    for (const known of this.#known) Object.assign(known, { wasComplete: false, lacking: UNSEEN })
  }

  /** The mirror has ended. */
  close(): void {
    this.#enterWhole('closed', '')
  }

  /** Returns the same with the path as people know it, of keys and beneath the source before. */
  #shown<T extends Skipped>(source: number, entry: T): T {
    const text = textOf(entry.path)
    return { ...entry, path: this.#known.length === 1 ? text : join(this.#sources[source] ?? '', text) }
  }

  /** The state of the whole is that of the source that is worst off. */
  #enterWorst(): void {
    const rank = ({ state }: Known) => ['source-lost', 'over-limit', 'mirroring'].indexOf(state)
    const worst = this.#known.reduce((a, b) => (rank(b) < rank(a) ? b : a))
    const isNamed = this.#known.length > 1 && worst.reason !== ''
    const source = this.#sources[this.#known.indexOf(worst)]
    this.#enterWhole(worst.state, isNamed ? `${source}: ${worst.reason}` : worst.reason)
  }

  #enterWhole(state: MirrorState, reason: string): void {
    this.#reason = reason
    if (state === this.#state) return
    this.#state = state
    this.#events.emit('state', state, reason)
  }

  #skip(known: Known, skipped: readonly Skipped[]): void {
    const before = new Set(known.skipped.map(({ path, reason }) => `${path}\n${reason}`))
    known.skipped = skipped.map(({ path, reason }) => ({ path, reason }))
    for (const entry of known.skipped)
      if (!before.has(`${entry.path}\n${entry.reason}`)) this.#events.emit('skipped', entry)
  }

  #report(known: Known, errors: readonly InotifyError[]): void {
    // All sources' errors: two sources share an error if both have the entry.
    const told = new Set(this.errors.map(conditionOf))
    known.failures = errors
    for (const error of errors) {
      const condition = conditionOf(error)
      if (!told.has(condition)) this.#events.emit('error', error)
      told.add(condition)
    }
  }
}

/** Returns the condition that is told once: on a full target each entry that does not fit has the same error, and they differ at each pass. */
function conditionOf({ code, path }: InotifyError): string {
  const isOfTarget = ['ENOSPC', 'EDQUOT', 'EROFS'].includes(code)
  return isOfTarget ? code : `${code} ${path && withoutVersions(path)}`
}

/** Names a generation in a path as readers do: its own name differs in each version, and an error outlasts a version. */
function withoutVersions(path: string): string {
  return path.replaceAll(/(?<=^|\/)\.\.[^/]+/g, '..data')
}
