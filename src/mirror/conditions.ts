import { join } from 'node:path'
import { InotifyError } from '../errors.ts'
import { textOf } from '../name_key.ts'
import type { Missing } from './copy/staged.ts'
import type { MirrorEvents, MirrorState } from './events.ts'
import type { Skipped } from './plan/tree.ts'
import type { Outcome } from './sync_pass.ts'
import type { Publisher } from './target/publisher.ts'

/** The facts about one source. */
interface Known {
  state: 'mirroring' | 'over-limit' | 'source-lost'
  reason: string
  skipped: readonly Skipped[]
  errors: readonly InotifyError[]
  /** The first entry wanting at the last pass; undefined if all of the source could be had. */
  lacking: Missing | undefined
  /** True: a complete version of the source has been in the target. */
  wasComplete: boolean
  /** True: the source is over the limits and its last version stays. */
  isHeld: boolean
}

/** The state of a source that has not been looked at since the target is this one. */
const UNSEEN: Missing = { path: '', reason: 'has not been looked at yet', isPassing: true }

/** The facts before the first pass. */
const UNKNOWN: Known = {
  state: 'mirroring',
  reason: '',
  skipped: [],
  errors: [],
  lacking: UNSEEN,
  wasComplete: false,
  isHeld: false,
}

type Emit = <K extends keyof MirrorEvents>(event: K, ...values: MirrorEvents[K]) => void

/** Knows the state of each source, and so of the whole: why the target is not what the sources are. Tells each trouble once while it lasts. */
export class Conditions {
  readonly #sources: readonly string[]
  readonly #publisher: Pick<Publisher, 'isUp' | 'goOnWithout'>
  readonly #emit: Emit
  readonly #known: readonly Known[]
  #state: MirrorState = 'mirroring'
  #reason = ''
  #generation = 0

  constructor(sources: readonly string[], publisher: Pick<Publisher, 'isUp' | 'goOnWithout'>, emit: Emit) {
    this.#sources = sources
    this.#publisher = publisher
    this.#emit = emit
    this.#known = sources.map(() => ({ ...UNKNOWN }))
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
    return this.#known.flatMap(({ errors }) => errors)
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

  /** A pass over a source is over. */
  take(source: number, outcome: Outcome): void {
    const known = this.#known[source] as Known
    this.#complete(source, outcome)
    if (outcome.found === 'lost') {
      this.lose(source, outcome.reason)
    } else if (outcome.found === 'torn') {
      const torn = { path: this.#shown(source, outcome.path), reason: outcome.reason }
      // The others are as they were when a pass last came through.
      this.#skip(known, [...known.skipped.filter((other) => other.path !== torn.path), torn])
    } else {
      const { over, changed, failures, isHeld } = outcome
      known.isHeld = isHeld
      this.#enter(source, over === undefined ? 'mirroring' : 'over-limit', over ?? '')
      if (changed !== undefined) this.#emit('update', { changed, generation: ++this.#generation })
      this.#skip(
        known,
        outcome.skipped.map(({ path, reason }) => ({ path: this.#shown(source, path), reason })),
      )
      this.#report(known, failures)
    }
  }

  /** A pass over a source has failed. */
  fail(source: number, error: unknown): void {
    if (!(error instanceof InotifyError)) throw error
    this.#report(this.#known[source] as Known, [error])
  }

  /** A source cannot be had. */
  lose(source: number, reason: string): void {
    this.#enter(source, 'source-lost', reason)
    this.#publisher.goOnWithout(source, this.#sources[source] ?? '')
  }

  /** The target is another, in which nothing has been seen. */
  moved(): void {
    for (const known of this.#known) Object.assign(known, { wasComplete: false, lacking: UNSEEN })
  }

  /** The mirror has ended. */
  close(): void {
    this.#enterWhole('closed', '')
  }

  /** Notes what is wanting of a source, and which sources are complete in the target: one may have waited for this one to be. */
  #complete(source: number, outcome: Outcome): void {
    const known = this.#known[source] as Known
    const lacking = lackingIn(outcome)
    known.lacking = lacking && { ...lacking, path: this.#shown(source, lacking.path) }
    if (!this.#publisher.isUp) return
    for (const each of this.#known) each.wasComplete ||= each.lacking === undefined
  }

  /** @param path of keys, beneath the source */
  #shown(source: number, path: string): string {
    const text = textOf(path)
    return this.#known.length === 1 ? text : join(this.#sources[source] ?? '', text)
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
    this.#enterWhole(worst, isNamed ? `${this.#sources[index]}: ${why}` : why)
  }

  #enterWhole(state: MirrorState, reason: string): void {
    this.#reason = reason
    if (state === this.#state) return
    this.#state = state
    this.#emit('state', state, reason)
  }

  #skip(known: Known, skipped: readonly Skipped[]): void {
    const before = new Set(known.skipped.map(({ path, reason }) => `${path}\n${reason}`))
    known.skipped = skipped
    for (const entry of skipped)
      if (!before.has(`${entry.path}\n${entry.reason}`)) this.#emit('skipped', entry)
  }

  #report(known: Known, errors: readonly InotifyError[]): void {
    // All sources' errors: two sources share an error if both have the entry.
    const told = new Set(this.errors.map(conditionOf))
    known.errors = errors
    for (const error of errors) {
      const condition = conditionOf(error)
      if (!told.has(condition)) this.#emit('error', error)
      told.add(condition)
    }
  }
}

/** Returns the first entry that a pass has found wanting. */
function lackingIn(outcome: Outcome): Missing | undefined {
  if (outcome.found === 'source') return outcome.lacking
  if (outcome.found === 'lost') return { path: '', reason: outcome.reason, isPassing: false }
  return { path: outcome.path, reason: outcome.reason, isPassing: true }
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
