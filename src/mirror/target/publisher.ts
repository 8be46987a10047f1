import { InotifyError } from '../../errors.ts'
import { textOf } from '../../name_key.ts'
import { failure } from '../../publish/failure.ts'
import { TaskQueue } from '../../task_queue.ts'
import { onTarget } from '../copy/safe_copy.ts'
import { adopted } from '../plan/last_good.ts'
import {
  type Contribution,
  changedNames,
  currentGeneration,
  facesOf,
  merge,
  withoutClaimed,
} from '../plan/merge.ts'
import { plan, type Step, safeWithout } from '../plan/plan.ts'
import { leavesOf, type TargetNode, type TargetTree } from '../plan/tree.ts'
import { Replaced } from '../source/errors.ts'
import { apply } from './apply.ts'
import { buildAll, isAtHand, type Ready } from './build.ts'
import { irretrievable } from './irretrievable.ts'
import type { OpenedTarget } from './opened_target.ts'
import type { Target } from './target.ts'

export interface Published {
  /** Names that have changed for consumers; undefined if nothing was published. */
  readonly changed: string[] | undefined
  readonly failures: readonly InotifyError[]
  /** True: not all of the source could be published, and another source has to be looked at first. */
  readonly isDeferred: boolean
}

/** After so many passes in turn that could not publish all, no source is looked at sooner than at its interval, and it is said. */
const MOST_DEFERRALS = 4

export const NOTHING: Published = { changed: undefined, failures: [], isDeferred: false }

/** Brings the target up to what the sources have, for one of them at a time. */
export class Publisher {
  readonly #target: Target
  #contributions: ReadonlyArray<Contribution | undefined>
  /** Called to have another pass over a source. */
  lookAgain: (source: number) => void = () => {}
  /** Told that the target's path has come to lead to another directory. */
  moved: (error: InotifyError) => void = () => {}
  #isUp = false
  // True: entries that were not published will be by another source's pass, which needs the files.
  #isDeferred = false
  // The successive failures to publish all, for want of another source's files or as somebody displaced it.
  #deferrals = 0
  // The sources that have been heard of since something was first wanting: what is wanting of another one may be on its way.
  readonly #heard = new Set<number>()
  readonly #turns = new TaskQueue()

  constructor(target: Target, sources: number) {
    this.#target = target
    this.#contributions = new Array<Contribution | undefined>(sources).fill(undefined)
  }

  /** The entries of the target. */
  get tree(): TargetTree {
    return this.#target.opened.tree
  }

  /** True: the target has all that was last to be published of every source. */
  get isUp(): boolean {
    return this.#isUp
  }

  contributionOf(source: number): Contribution | undefined {
    return this.#contributions[source]
  }

  /**
   * A pass over a source begins: what somebody has changed in the target is not believed any more. Returns the target that the pass makes
   * things ready for; {@link end} is to be called with that.
   */
  begin(source: number): Promise<OpenedTarget> {
    return this.#turns.run(async () => {
      const { shown } = this.#target
      // Marked as the target's errors: a pass would take them for the source's.
      const moved = await onTarget(shown, this.#target.locate())
      await onTarget(shown, this.#target.opened.staging.prepare(source))
      await this.#target.verify()
      if (moved !== undefined) {
        this.#contributions = this.#contributions.map(() => undefined)
        this.#isUp = false
        this.#isDeferred = false
        // Entries wanting in the old target are no sign for this one.
        this.#deferrals = 0
        this.#heard.clear()
        this.#lookAtOthers(source)
        this.moved(moved)
      }
      return this.#target.begin()
    })
  }

  /** A pass is over. Returns the error if what it leaves could not be removed: the next pass tries to. */
  end(source: number, opened: OpenedTarget): Promise<InotifyError | undefined> {
    return this.#turns.run(async () => {
      try {
        await opened.staging.clear(source, this.#wanted())
        return undefined
      } catch (error) {
        if (error instanceof InotifyError) return error
        throw error
      } finally {
        await this.#target.end(opened)
      }
    })
  }

  /**
   * Publishes a source's new part. Nothing until all sources have been heard of: the others' entries are not gone.
   *
   * @param opened from {@link begin}; throws {@link Replaced} if the target is another since
   * @param mayRemove true: entries may be removed. If not, and some would be, nothing is done: undefined
   */
  publish(
    source: number,
    opened: OpenedTarget,
    contribution: Contribution,
    mayRemove: boolean,
  ): Promise<Published | undefined> {
    return this.#turns.run(async () => {
      if (opened !== this.#target.opened) throw new Replaced('the target was replaced')
      const contributions = withoutClaimed(this.#contributions.with(source, contribution))
      const known = contributions.filter((each) => each !== undefined)
      const isComplete = known.length === contributions.length
      const published = isComplete
        ? await this.#bringUp(known, source, mayRemove)
        : { ...NOTHING, isDeferred: true }
      if (published === undefined) return undefined
      this.#isUp = !published.isDeferred && published.failures.length === 0
      this.#isDeferred = published.isDeferred
      this.#contributions = contributions
      return published
    })
  }

  /**
   * A source is lost: where it has not been heard of since the target became another, the rest does not wait for it any longer. What the
   * target has of it stays.
   */
  goOnWithout(source: number, path: string): void {
    this.#heard.add(source)
    if (this.#contributions[source] !== undefined) return
    this.#contributions = this.#contributions.with(source, adopted(this.tree, path))
    this.#lookAtOthers(source)
  }

  /** Removes from the target all that the mirror has put there. */
  withdraw(): Promise<readonly InotifyError[]> {
    return this.#turns.run(async () => {
      const { tree } = this.#target.opened
      await this.#target.verify()
      const steps = plan(tree, { ...tree, entries: new Map() })
      return (await apply(steps, new Map(), this.#target, undefined)).failures
    })
  }

  /** Leaves to the next mirror, exactly, which entries are this one's. */
  leave(): Promise<void> {
    return this.#turns.run(async () => {
      await this.#target.verify()
      await this.#target.opened.staging.record(this.#target.made)
      await this.#target.opened.staging.leave()
    })
  }

  async #bringUp(
    contributions: readonly Contribution[],
    source: number,
    mayRemove: boolean,
  ): Promise<Published | undefined> {
    const target = this.#target
    const { tree, conflicts } = merge(contributions, target.opened.tree)
    const failures = conflicts.map(({ name, sources: [first, second] }) => {
      const hint = `${first} has an entry '${textOf(name)}' as well, and only that one is mirrored: rename one of them`
      return failure('EEXIST', 'mirror', `${second}/${textOf(name)}`, hint)
    })
    const all = plan(target.opened.tree, tree)
    const doubts = contributions.map((each) => each.doubts)
    const without = (failed: Iterable<string>, steps: readonly Step[]) =>
      safeWithout(failed, steps, target.opened.tree, tree, doubts)
    let steps = all
    if (steps.length === 0) {
      this.#deferrals = 0
      this.#heard.clear()
      return { ...NOTHING, failures }
    }
    if (!mayRemove && steps.some((step) => step.do === 'remove')) return undefined
    const ready = new Set(steps.filter((step) => step.do !== 'place' || this.#isAtHand(step.node)))
    const lacking = steps.filter((step) => !ready.has(step))
    const isKeptBack = lacking.some(({ path }) => path === currentGeneration(tree)?.name)
    if (lacking.length === 0) {
      this.#heard.clear()
    } else {
      this.#heard.add(source)
      this.#defer(source)
      const isLasting = this.#deferrals > MOST_DEFERRALS
      // Entries that others can give were removed since they were asked for.
      const asked = contributions.filter((each, index) => each.isLastGood && this.#heard.has(index))
      const isGone = (node: TargetNode) => !this.#isAtHand(node)
      const stuck = isLasting && irretrievable(target.shown, lacking, asked, isKeptBack, isGone)
      if (stuck) failures.push(stuck)
      if (isKeptBack && !isLasting) return { ...NOTHING, failures, isDeferred: true }
      steps = [...ready]
    }
    const isPutOff = steps.some((step) => step.do === 'remove' && tree.entries.has(step.path))
    const before = facesOf(target.opened.tree)
    const work = target.opened.staging.work(source)
    const built = await buildAll(steps, target, work)
    try {
      await target.opened.staging.record(withBuilt(target.made, steps, built))
    } catch (error) {
      if (!(error instanceof InotifyError)) throw error
      failures.push(error)
      // The target is full, and new names cannot be noted down: all other steps are possible, and may make room.
      const { made } = target.opened.staging
      steps = steps.filter((step) => made.has(step.path.split('/')[0] ?? ''))
    }
    const isLeft = new Set(steps)
    const failed = all.filter((step) => step.do === 'place' && !isLeft.has(step)).map(({ path }) => path)
    if (failed.length > 0) steps = without(failed, steps)
    const applied = await apply(steps, built, target, work, without)
    failures.push(...applied.failures)
    let { isDisplaced } = applied
    try {
      // From this look on the ctime counts: a writer may set other times back.
      if (applied.isVisible) isDisplaced = (await target.verify()) || isDisplaced
    } catch (error) {
      // The entries are there for all that is known, and are told: for want of descriptors the next pass looks.
      if (!(error instanceof InotifyError)) throw error
      failures.push(error)
    }
    // Entries that somebody has displaced meanwhile are copied once more.
    if (isDisplaced || isPutOff) this.#defer(undefined)
    else if (lacking.length === 0) this.#deferrals = 0
    const changed = applied.isVisible ? changedNames(before, facesOf(target.opened.tree)) : undefined
    return { changed, failures, isDeferred: lacking.length > 0 || isPutOff || isDisplaced }
  }

  /**
   * Has the sources looked at again at once, all but the one that is, since something could not be published. Not for ever: one that is
   * held gives nothing however often it is asked, and whoever goes on displacing what is put in place must not have all of a processor.
   */
  #defer(source: number | undefined): void {
    if (++this.#deferrals <= MOST_DEFERRALS) this.#lookAtOthers(source)
  }

  #lookAtOthers(source: number | undefined): void {
    for (const each of this.#contributions.keys()) if (each !== source) this.lookAgain(each)
  }

  /** Returns true if the content of a node is there. */
  #isAtHand(node: TargetNode): boolean {
    const { tree, staging } = this.#target.opened
    return isAtHand(node, (each) => staging.has(each), currentGeneration(tree)?.tree)
  }

  /** The files that are kept for another pass. */
  #wanted(): ReadonlySet<TargetNode> {
    const kept = this.#isDeferred ? this.#contributions : []
    const entries = kept.flatMap((each) => [
      ...(each?.entries ?? []),
      ...(each?.generation?.tree.entries ?? []),
    ])
    return new Set(entries.flatMap(([, node]) => [...leavesOf(node)]))
  }
}

/** Returns the entries of the target while the steps are carried out: the old ones, or their replacements. */
function withBuilt(
  made: Map<string, string[]>,
  steps: readonly Step[],
  built: Ready,
): ReadonlyMap<string, readonly string[]> {
  for (const step of steps) {
    if (step.do !== 'place' || step.path.includes('/')) continue
    const ready = built.get(step)
    const identities = ready === undefined || ready instanceof Error ? [] : [ready.node.placed.identity]
    made.set(step.path, [...(made.get(step.path) ?? []), ...identities])
  }
  return made
}
