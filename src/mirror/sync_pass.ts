import { InotifyError } from '../errors.ts'
import { CallError } from '../mounts/syscalls/call_error.ts'
import type { DirectoryHandle } from '../mounts/syscalls/directory_handle.ts'
import { stage } from './copy/stage.ts'
import type { Missing, Staged, StagedGeneration } from './copy/staged.ts'
import { type Emptied, TWO_TICKS } from './copy/stillness.ts'
import type { MirrorConfig } from './options.ts'
import { isShown } from './plan/generation.ts'
import { adopted, heldVersion, isShownByLinks, needsLastKeys, withLastKeys } from './plan/last_good.ts'
import { linked } from './plan/linked.ts'
import type { Contribution } from './plan/merge.ts'
import type { Skipped } from './plan/tree.ts'
import { codeOf, losesSource, Replaced, reasonOf, Torn } from './source/errors.ts'
import { MOST_SKIPPED, Scan, type ScanRules, type Snapshot, verify } from './source/snapshot.ts'
import type { Source } from './source/source.ts'
import type { SourceHandle } from './source/source_handle.ts'
import { buildAhead } from './target/build.ts'
import { NOTHING, type Published, type Publisher } from './target/publisher.ts'
import type { Target } from './target/target.ts'

/** How often a scan that raced the source's writer is begun again at once. */
const ATTEMPTS = 3

/** What a pass found and did. */
export type Outcome =
  | { readonly found: 'torn'; readonly path: string; readonly reason: string }
  | { readonly found: 'lost'; readonly reason: string }
  | ({
      readonly found: 'source'
      /** Why it is over the limits. */
      readonly over: string | undefined
      readonly skipped: readonly Skipped[]
      /** Of what should be there what comes first that is not; undefined if all of the source could be had. */
      readonly lacking: Missing | undefined
      /** Whether the source is beyond the limits and not shown by links. */
      readonly isHeld: boolean
      /** What was seen, if nothing of it is wanting in the target. */
      readonly complete: Snapshot | undefined
      /** Whether it is to be read once more to be sure of it. */
      readonly isUnconfirmed: boolean
    } & Published)

/** What the passes over one source work with. */
export interface PassContext {
  readonly config: MirrorConfig
  readonly source: Source
  /** Which of the sources it is. */
  readonly index: number
  readonly publisher: Publisher
  readonly target: Target
  readonly rules: ScanRules
}

/** Looks at a source and brings the target up to it, once for each {@link run}. Runs must not overlap. */
export class SyncPass {
  readonly #context: PassContext
  #emptied: Emptied = new Map()
  #read: Reading | undefined

  constructor(context: PassContext) {
    this.#context = context
  }

  /**
   * One pass. Rejects with an {@link InotifyError} if the staging directory fails it, and with anything if the mirror is closed.
   *
   * @param signal ends a wait for files that shall hold still
   */
  async run(signal: AbortSignal): Promise<Outcome> {
    const { publisher, index } = this.#context
    try {
      for (let left = ATTEMPTS; ; left--) {
        const epoch = await publisher.begin(index)
        let outcome: Outcome | undefined
        let uncleared: InotifyError | undefined
        try {
          outcome = await this.#attempt(epoch, signal)
        } catch (error) {
          // A directory that was replaced while it was read cannot be listed, for one: whether the source has gone shows at its path.
          if (isOfSource(error) && left > 1) continue
          if (!(error instanceof Torn || error instanceof Replaced)) throw error
          const path = error instanceof Torn ? '..data' : ''
          if (left === 1) outcome = { found: 'torn', path, reason: error.message }
        } finally {
          uncleared = await this.#clear().finally(() => publisher.end(epoch))
        }
        // What the pass has found counts whatever is left behind; the next one tries to clear that away, too.
        if (outcome?.found === 'source' && uncleared !== undefined)
          return { ...outcome, failures: [...outcome.failures, uncleared] }
        if (outcome !== undefined) return outcome
      }
    } catch (error) {
      // An InotifyError is the target's.
      if (!(error instanceof InotifyError) && (losesSource(error) || isOfSource(error)))
        return { found: 'lost', reason: reasonOf(error) }
      throw error
    }
  }

  async #clear(): Promise<InotifyError | undefined> {
    const { target, index } = this.#context
    try {
      await target.staging.clear(index)
    } catch (error) {
      if (error instanceof InotifyError) return error
      throw error
    }
    return undefined
  }

  async #attempt(epoch: number, signal: AbortSignal): Promise<Outcome> {
    const { config, source, index, publisher, target, rules } = this.#context
    await using root = await source.open()
    await using scan = new Scan(root, rules)
    const snapshot = await scan.read(this.#read?.data !== undefined)
    const held = scan.generation
    const staged =
      snapshot.over === undefined ? await this.#stage(root, snapshot, held, signal) : this.#link(snapshot)
    this.#emptied = staged.emptied
    const had = publisher.contributionOf(index)
    const isSwapped = had?.generation !== undefined && had.generation.from !== snapshot.data
    // The target's thread has nothing else to do while the source's verifies. Of several sources it is not yet known what is made.
    if (isSwapped && staged.generation !== undefined && config.sources.length === 1)
      buildAhead(staged.generation.tree, await target.staging.work(index), staged.generation.from)
    // What a swap leaves behind is removed: that it may be is asked with the rest.
    const [verified, confirmed] = await Promise.allSettled([
      verify(root, snapshot, held),
      isSwapped ? source.confirm(root.opened) : undefined,
    ])
    for (const each of [verified, confirmed]) {
      if (each.status === 'fulfilled') continue
      // Not the source, if the path leads to another by now.
      if (!(each.reason instanceof Torn)) await source.confirm(root.opened)
      throw each.reason
    }
    const published = await this.#publish(root, epoch, this.#contribution(snapshot, staged), isSwapped)
    const failures = [...staged.failures, ...published.failures]
    const isWhole =
      staged.missing.length + failures.length === 0 && snapshot.over === undefined && !published.isDeferred
    this.#read = isWhole ? readAgain(snapshot.data, this.#read) : undefined
    return {
      found: 'source',
      over: snapshot.over,
      changed: published.changed,
      isDeferred: published.isDeferred,
      skipped: skippedOf(snapshot, staged),
      lacking: firstLacking(snapshot, staged),
      isHeld: staged.isHeld,
      failures,
      complete: isWhole ? snapshot : undefined,
      isUnconfirmed: this.#read?.isConfirmed === false,
    }
  }

  async #publish(
    root: SourceHandle,
    epoch: number,
    contribution: Contribution,
    isConfirmed: boolean,
  ): Promise<Published> {
    const { source, index, publisher } = this.#context
    const published = await publisher.publish(index, epoch, contribution, isConfirmed)
    if (published !== undefined) return published
    // Not while it publishes: a source that has stopped answering must not hold up the others.
    await source.confirm(await root.stat())
    return (await publisher.publish(index, epoch, contribution, true)) ?? NOTHING
  }

  async #stage(
    root: SourceHandle,
    snapshot: Snapshot,
    held: DirectoryHandle | undefined,
    signal: AbortSignal,
  ): Promise<Ready> {
    const { config, index, publisher, target } = this.#context
    const before = {
      target: publisher.tree,
      own: publisher.contributionOf(index)?.entries,
      generation: this.#shown(),
      isConfirmed: this.#read?.isConfirmed === true && this.#read.data === snapshot.data,
      emptied: this.#emptied,
    }
    const stillness = { quiet: config.quiet, signal }
    const staged = await stage(root, snapshot, held, before, () => target.staging.work(index), stillness)
    return { ...staged, isHeld: false }
  }

  /** Of a source over the limits. */
  #link(snapshot: Snapshot): Ready {
    const { config, source } = this.#context
    const links = linked(snapshot, source)
    // Those who see links go on to do so: there is no version to go back to. What is skipped is not among them.
    const isSure = () =>
      snapshot.skipped.length + links.missing.length === 0 || isShownByLinks(this.#had(), source.path)
    const isHeld =
      snapshot.endless || !(config.overLimit === undefined ? isSure() : config.overLimit === 'link')
    return { ...links, failures: [], emptied: new Map(), isHeld }
  }

  /** What the source has added to the target, or an earlier mirror. */
  #had(): Contribution {
    const { source, index, publisher } = this.#context
    return publisher.contributionOf(index) ?? adopted(publisher.tree, source.path)
  }

  /** What the target shall have of the source. */
  #contribution({ data }: Snapshot, staged: Ready): Contribution {
    const { source } = this.#context
    const { entries, generation, missing, failures, isHeld } = staged
    const had = this.#had()
    if (isHeld)
      return { ...heldVersion(had, { entries, generation, missing }, source.path), isLastGood: true }
    // Where the target has failed, the source has not been asked for all.
    const isAsked = failures.length === 0
    const isWanting = data !== undefined && generation === undefined
    if (isWanting || needsLastKeys(entries, generation, missing)) {
      return { ...withLastKeys(entries, had), isLastGood: isAsked }
    }
    const isLastGood = isAsked && missing.length > 0
    return { source: source.path, entries, generation, isAdopted: false, isLastGood }
  }

  /** The source's generation as the target shows it. */
  #shown(): StagedGeneration | undefined {
    const { index, publisher } = this.#context
    const generation = publisher.contributionOf(index)?.generation
    return generation !== undefined && isShown(publisher.tree, generation.tree) ? generation : undefined
  }
}

/** What a pass has of a source. */
interface Ready extends Staged {
  /** Whether the target keeps the last version, as the source is beyond the limits. */
  readonly isHeld: boolean
}

/** What is told of what is not mirrored: the first of it by name. */
function skippedOf({ skipped, unnamed }: Snapshot, { missing }: Ready): readonly Skipped[] {
  const all = [...skipped, ...missing.map(({ path, reason }) => ({ path, reason }))]
  const more = unnamed + Math.max(0, all.length - MOST_SKIPPED)
  if (more === 0) return all
  return [...all.slice(0, MOST_SKIPPED), { path: '.', reason: `and ${more} more entries` }]
}

function firstLacking({ over }: Snapshot, { isHeld, missing, failures }: Ready): Missing | undefined {
  if (isHeld) return { path: '', reason: `over the limits: ${over}`, isPassing: false }
  const [failure] = failures
  if (failure !== undefined) return { path: failure.path ?? '', reason: failure.message, isPassing: false }
  return missing.find(({ isPassing }) => !isPassing) ?? missing[0]
}

/** Whether a call on the source failed that speaks for no single entry. */
function isOfSource(error: unknown): boolean {
  return error instanceof CallError && codeOf(error) !== 'ECANCELED'
}

/**
 * When a generation was read first, and whether it has been read again since, behind two ticks of the clock. A file that was written
 * twice within a tick may have the same stat key with other content. (A flat file is read twice in one pass.)
 */
interface Reading {
  readonly data: string | undefined
  readonly since: number
  readonly isConfirmed: boolean
}

function readAgain(data: string | undefined, before: Reading | undefined): Reading {
  const now = performance.now()
  if (data === undefined) return { data, since: now, isConfirmed: true }
  if (before?.data !== data) return { data, since: now, isConfirmed: false }
  return before.isConfirmed ? before : { ...before, isConfirmed: now - before.since >= TWO_TICKS }
}
