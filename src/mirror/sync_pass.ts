import { InotifyError } from '../errors.ts'
import { CallError } from '../mounts/syscalls/call_error.ts'
import { atOnce } from '../mounts/syscalls/concurrency.ts'
import { type Before, type Staged, Stager } from './copy/stager.ts'
import type { MirrorConfig } from './options.ts'
import { adopted, heldVersion, isShownByLinks, linked, withLastKeys } from './plan/last_good.ts'
import { type Contribution, isShown } from './plan/merge.ts'
import { danglingLinks, follow, linksIn, NO_DOUBTS } from './plan/reach.ts'
import type { Missing, Skipped } from './plan/tree.ts'
import { codeOf, losesSource, Replaced, reasonOf, Torn } from './source/errors.ts'
import { movedLinks } from './source/links.ts'
import { Rest } from './source/rest.ts'
import { MOST_SKIPPED, Scan, type Snapshot } from './source/snapshot.ts'
import type { Source } from './source/source.ts'
import type { SourceHandle } from './source/source_handle.ts'
import type { OpenedTarget } from './target/opened_target.ts'
import { NOTHING, type Published, type Publisher } from './target/publisher.ts'
import type { Target } from './target/target.ts'

/** The most scans at once if they race the source's writer. */
const ATTEMPTS = 3

const LINKS_CHANGED = 'links were changed while it was read'
const UNSURE: Missing = { path: '', reason: LINKS_CHANGED, isPassing: true }

export type SourceState = 'mirroring' | 'over-limit' | 'source-lost'

/** The findings and deeds of a pass. What it does not say is as it was before. */
export interface Outcome {
  /** undefined if the source changed while it was read. */
  readonly state?: SourceState
  /** The reason for the state; '' if it needs none. */
  readonly reason: string
  /** The first entry that should be there and is not; undefined if all of the source could be had. */
  readonly lacking: Missing | undefined
  readonly skipped?: readonly Skipped[]
  readonly failures?: readonly InotifyError[]
  /** True: the source is beyond the limits and not shown by links. */
  readonly isHeld?: boolean
  /** Names that have changed for consumers; undefined if nothing was published. */
  readonly changed?: string[] | undefined
  /** The snapshot, if nothing of it is wanting in the target. */
  readonly complete?: Snapshot | undefined
  /** True: it is to be read once more to be sure of it. */
  readonly isUnconfirmed?: boolean
}

/** The outcome for a source that cannot be had. */
export function lost(reason: string): Outcome {
  return { state: 'source-lost', reason, lacking: { path: '', reason, isPassing: false } }
}

/** The context of the passes over one source. */
export interface PassContext {
  readonly config: MirrorConfig
  readonly source: Source
  /** The index of the source. */
  readonly index: number
  readonly publisher: Publisher
  readonly target: Target
}

/** Looks at a source and brings the target up to it, once for each {@link run}. Runs must not overlap. */
export class SyncPass {
  readonly #context: PassContext
  #rest = new Rest()
  // True: the last pass found a `..data`.
  #hadData = false
  // The links that led nowhere at the last reading, and their texts.
  #dangling: ReadonlySet<string> = new Set()
  // True: some of these had not led there at the reading before that.
  #wasNews = false

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
        const opened = await publisher.begin(index)
        let outcome: Outcome | undefined
        let uncleared: InotifyError | undefined
        try {
          outcome = await this.#attempt(opened, signal, left > 1)
        } catch (error) {
          // A directory that was replaced while it was read cannot be listed, for one: whether the source has gone shows at its path.
          if (isOfSource(error) && left > 1) continue
          if (!(error instanceof Torn || error instanceof Replaced)) throw error
          const [path, reason] = [error instanceof Torn ? '..data' : '', error.message]
          if (left === 1) outcome = { reason, lacking: { path, reason, isPassing: true } }
        } finally {
          uncleared = await publisher.end(index, opened)
        }
        // The pass's findings count whatever is left behind; the next one tries to clear that away, too.
        if (outcome?.failures !== undefined && uncleared !== undefined)
          return { ...outcome, failures: [...outcome.failures, uncleared] }
        if (outcome !== undefined) return outcome
      }
    } catch (error) {
      // An InotifyError is the target's.
      if (!(error instanceof InotifyError) && (losesSource(error) || isOfSource(error)))
        return lost(reasonOf(error))
      throw error
    }
  }

  async #attempt(opened: OpenedTarget, signal: AbortSignal, isRepeatable: boolean): Promise<Outcome> {
    const { config, source, index, publisher } = this.#context
    const began = performance.now()
    await using root = await source.open()
    const { limits, quiet, firstPass } = config
    const rules = { limits, sources: source.paths, target: opened.held.opened, looked: firstPass?.looked }
    await using scan = new Scan(root, rules)
    const snapshot = await scan.read(this.#hadData)
    const rest = this.#rest.after(snapshot)
    const wasNews = this.#wasNews
    const { nowhere, isNews } = this.#leadNowhere(snapshot)
    if (isNews && isRepeatable) throw new Torn('links lead to what was made while it was read')
    const { over } = snapshot
    const stager = () => new Stager(opened.staging.work(index), { quiet, signal }, this.#before(rest))
    const staged =
      over === undefined ? await stager().stage(root, snapshot, scan.generation) : linked(snapshot, source)
    const isHeld = over !== undefined && this.#isHeld(snapshot, staged)
    if (over !== undefined)
      firstPass?.over(config.sources.length > 1 ? `${source.path}: ${over}` : over, isHeld)
    const had = publisher.contributionOf(index)
    const isSwapped = had?.generation !== undefined && had.generation.name !== snapshot.data
    // A swap leaves entries to be removed: the permission is asked with the rest.
    const confirm = () => source.confirm(root.opened)
    const checks = [() => scan.verify(snapshot), ...(isSwapped ? [confirm] : [])]
    await atOnce(checks, (check) => check()).catch(async (error) => {
      // Not the source, if the path leads to another by now.
      if (!(error instanceof Torn)) await confirm()
      throw error
    })
    const moved = await movedLinks(root, snapshot, source.paths, wasNews)
    if (moved.size > 0 && isRepeatable) throw new Torn(LINKS_CHANGED)
    const isSure = moved.size === 0 && !isNews
    const kept = this.#contribution(snapshot, staged, isHeld)
    // Beyond the limits what is behind a link may be what must not be shown any more: the link brings nothing back.
    const doubts =
      over === undefined
        ? { wanting: new Set([...staged.wanting, ...moved]), nowhere }
        : { ...NO_DOUBTS, nowhere: new Set(linksIn(kept)) }
    const contribution = { ...kept, doubts }
    const published = await this.#publish(root, opened, contribution, isSwapped)
    const failures = [...staged.failures, ...published.failures]
    const isWhole =
      isSure && staged.missing.length + failures.length === 0 && over === undefined && !published.isDeferred
    this.#hadData = snapshot.data !== undefined
    this.#rest = rest
    rest.read(began, isUnread(snapshot, staged))
    return {
      state: over === undefined ? 'mirroring' : 'over-limit',
      reason: over ?? '',
      changed: published.changed,
      skipped: skippedOf(snapshot, staged),
      lacking: firstLacking(snapshot, staged, isHeld) ?? (isSure ? undefined : UNSURE),
      isHeld,
      failures,
      complete: isWhole ? snapshot : undefined,
      isUnconfirmed: rest.isUnsureIn(''),
    }
  }

  /**
   * The links of a scan that lead nowhere. `nowhere`: those of which that is sure. A file may have been made behind the look at its directory, and
   * in front of the look at the link to it: a second look sees that.
   */
  #leadNowhere({ tree }: Snapshot): { nowhere: ReadonlySet<string>; isNews: boolean } {
    const before = this.#dangling
    const ends = new Map(danglingLinks(tree).map((path) => [path, `${path}\0${follow(tree, path).end}`]))
    this.#dangling = new Set(ends.values())
    const nowhere = new Set([...ends.keys()].filter((path) => before.has(ends.get(path) ?? '')))
    this.#wasNews = nowhere.size < ends.size
    return { nowhere, isNews: this.#wasNews }
  }

  async #publish(
    root: SourceHandle,
    opened: OpenedTarget,
    contribution: Contribution,
    isConfirmed: boolean,
  ): Promise<Published> {
    const { source, index, publisher } = this.#context
    const published = await publisher.publish(index, opened, contribution, isConfirmed)
    if (published !== undefined) return published
    // Not while it publishes: a source that has stopped answering must not hold up the others.
    await source.confirm(await root.stat())
    return (await publisher.publish(index, opened, contribution, true)) ?? NOTHING
  }

  /** Returns the source's part of the target so far. */
  #before(rest: Rest): Before {
    const { index, publisher } = this.#context
    const { entries: own, generation } = publisher.contributionOf(index) ?? {}
    const isThere = generation !== undefined && isShown(publisher.tree, generation.tree)
    return { target: publisher.tree, own, generation: isThere ? generation : undefined, rest }
  }

  /** Returns true if the last version of a source over the limits stays, and links do not take its place. */
  #isHeld({ skipped, endless }: Snapshot, { missing }: Staged): boolean {
    const { config, source } = this.#context
    if (endless || config.overLimit !== undefined) return endless || config.overLimit === 'hold'
    // Readers who see links go on to do so: there is no version to go back to. Skipped entries are not among them.
    return skipped.length + missing.length > 0 && !isShownByLinks(this.#had(), source.path)
  }

  /** Returns the entries that the source, or an earlier mirror, has added to the target. */
  #had(): Contribution {
    const { source, index, publisher } = this.#context
    return publisher.contributionOf(index) ?? adopted(publisher.tree, source.path)
  }

  /** Returns the entries that the target shall have of the source. */
  #contribution({ data }: Snapshot, staged: Staged, isHeld: boolean): Contribution {
    const { source } = this.#context
    const { entries, generation, missing, failures } = staged
    const had = this.#had()
    if (isHeld) return { ...heldVersion(had, staged, source.path), isLastGood: true }
    // If the target has failed, the source has not been asked for all.
    const isAsked = failures.length === 0
    if (data !== undefined && generation === undefined)
      return { ...withLastKeys(entries, had), isLastGood: isAsked }
    const isLastGood = isAsked && missing.length > 0
    return { source: source.path, entries, generation, isAdopted: false, isLastGood, doubts: NO_DOUBTS }
  }
}

/** Returns the entries to be told as not mirrored: the first by name. */
function skippedOf({ skipped, unnamed }: Snapshot, { missing }: Staged): readonly Skipped[] {
  const all = [...skipped, ...missing]
  const more = unnamed + Math.max(0, all.length - MOST_SKIPPED)
  if (more === 0) return all
  return [...all.slice(0, MOST_SKIPPED), { path: '.', reason: `and ${more} more entries` }]
}

function firstLacking(
  { over }: Snapshot,
  { missing, failures }: Staged,
  isHeld: boolean,
): Missing | undefined {
  if (isHeld) return { path: '', reason: `over the limits: ${over}`, isPassing: false }
  const [failure] = failures
  if (failure !== undefined) return { path: failure.path ?? '', reason: failure.message, isPassing: false }
  return missing.find(({ isPassing }) => !isPassing) ?? missing[0]
}

/** Returns true if a call on the source failed that speaks for no single entry. */
function isOfSource(error: unknown): boolean {
  return error instanceof CallError && codeOf(error) !== 'ECANCELED'
}

/** The paths of a source that a pass could not read as they are now. Their last version stays. */
function isUnread({ data }: Snapshot, { missing, failures, generation }: Staged): (path: string) => boolean {
  const hasFailed = failures.length > 0 || (data !== undefined && generation === undefined)
  return (path) => hasFailed || missing.some((each) => `${path}/`.startsWith(`${each.path}/`))
}
