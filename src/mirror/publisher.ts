import { InotifyError } from '../errors.ts'
import { apply, isAtHand, type Target } from './apply.ts'
import { changedNames } from './changed.ts'
import { currentGeneration } from './generation.ts'
import { type Contribution, merge } from './merge.ts'
import { plan, type Step } from './plan.ts'
import type { Staging } from './staging.ts'
import type { TargetTree } from './tree.ts'

export interface Published {
  /** Names that have changed for consumers; undefined if nothing was published. */
  readonly changed: string[] | undefined
  readonly failures: readonly InotifyError[]
  /** Whether more is to be published of the source than was: another has to be looked at first. */
  readonly isDeferred: boolean
}

export const NOTHING: Published = { changed: undefined, failures: [], isDeferred: false }

/** Brings the target up to what the sources have, for one of them at a time. */
export class Publisher {
  readonly #target: Target
  readonly #staging: Staging
  readonly #contributions: Array<Contribution | undefined>
  /** Called to have another pass over a source. */
  lookAgain: (source: number) => void = () => {}
  #last: Promise<unknown> = Promise.resolve()

  constructor(target: Target, staging: Staging, sources: number) {
    this.#target = target
    this.#staging = staging
    this.#contributions = new Array<Contribution | undefined>(sources).fill(undefined)
  }

  /** What the target has. */
  get tree(): TargetTree {
    return this.#target.tree
  }

  contributionOf(source: number): Contribution | undefined {
    return this.#contributions[source]
  }

  /**
   * Publishes what a source has become. Until all have been heard of nothing is: what the others have is not gone.
   *
   * @param mayRemove whether entries may be removed. If not, and some would be, nothing is done: undefined
   */
  publish(source: number, contribution: Contribution, mayRemove: boolean): Promise<Published | undefined> {
    return this.#inTurn(async () => {
      const contributions = this.#contributions.with(source, contribution)
      const known = contributions.filter((each) => each !== undefined)
      const isComplete = known.length === contributions.length
      const published = isComplete
        ? await this.#bringUp(known, source, mayRemove)
        : { ...NOTHING, isDeferred: true }
      if (published === undefined) return undefined
      // What is not published now will be by another source's pass, which needs the files.
      if (!published.isDeferred) await this.#staging.release()
      else if (contribution !== this.#contributions[source]) await this.#staging.keep(source)
      this.#contributions[source] = contribution
      return published
    })
  }

  /** Removes from the target all that the mirror has put there. */
  withdraw(): Promise<readonly InotifyError[]> {
    return this.#inTurn(async () => {
      const { tree } = this.#target
      const steps = plan(tree, { ...tree, entries: new Map() })
      return (await apply(steps, this.#target, () => this.#staging.work(0))).failures
    })
  }

  /** Resolves when nothing is being published. */
  async settled(): Promise<void> {
    await this.#last
  }

  async #bringUp(
    contributions: readonly Contribution[],
    source: number,
    mayRemove: boolean,
  ): Promise<Published | undefined> {
    const target = this.#target
    const { tree, conflicts } = merge(contributions, target.tree)
    const failures = conflicts.map(
      ({ name, sources: [first, second] }) =>
        new InotifyError({
          errno: 'EEXIST',
          syscall: 'mirror',
          path: `${second}/${name}`,
          hint: `${first} has an entry '${name}' as well, and only that one is mirrored: rename one of them`,
        }),
    )
    let steps = plan(target.tree, tree)
    if (steps.length === 0) return { ...NOTHING, failures }
    if (!mayRemove && steps.some((step) => step.do === 'remove')) return undefined
    const ready = await this.#atHand(steps)
    if (ready.length < steps.length) {
      for (const other of contributions.keys()) if (other !== source) this.lookAgain(other)
      if (steps.some((step) => step.do === 'place' && step.essential && !ready.includes(step)))
        return { ...NOTHING, failures, isDeferred: true }
      steps = ready
    }
    const before = copyTree(target.tree)
    const isKnown = (name: string) => isOfLayout(name, target.tree)
    const names = [...target.tree.entries.keys(), ...tree.entries.keys()].filter((name) => !isKnown(name))
    try {
      await this.#staging.record(new Set(names))
    } catch (error) {
      if (!(error instanceof InotifyError)) throw error
      failures.push(error)
      const recorded = new Set(this.#staging.made)
      steps = withoutNew(steps, (name) => isKnown(name) || recorded.has(name))
    }
    const applied = await apply(steps, target, () => this.#staging.work(source))
    const changed = applied.visible ? changedNames(before, target.tree) : undefined
    return { changed, failures: [...failures, ...applied.failures], isDeferred: false }
  }

  /** Those of the steps whose content is there. */
  async #atHand(steps: readonly Step[]): Promise<Step[]> {
    const current = currentGeneration(this.#target.tree)?.tree
    const ready: Step[] = []
    for (const step of steps) {
      const from = step.do === 'place' && step.essential ? current : undefined
      if (step.do !== 'place' || (await isAtHand(step.node, (file) => this.#staging.has(file), from)))
        ready.push(step)
    }
    return ready
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(run)
    this.#last = turn.catch(() => {})
    return turn
  }
}

/**
 * What can be done if names that are new cannot be noted down, since the target is full: all the rest, which may make room.
 * A generation that is not placed must not be led to.
 */
function withoutNew(steps: readonly Step[], isKnown: (name: string) => boolean): Step[] {
  const isPossible = (step: Step) => isKnown(step.path.split('/')[0] ?? '')
  if (steps.some((step) => step.do === 'place' && step.essential && !isPossible(step))) return []
  return steps.filter(isPossible)
}

/** A generation's name: where there is a `..data` the next mirror knows it for one without a note, see inherit.ts. */
function isOfLayout(name: string, { entries }: TargetTree): boolean {
  return name !== '..data' && name.startsWith('..') && entries.get('..data')?.kind === 'link'
}

/** The tree of the target is changed step by step; its leaves are not. */
function copyTree(tree: TargetTree): TargetTree {
  const entries = new Map(tree.entries)
  for (const [name, node] of entries) if (node.kind === 'directory') entries.set(name, copyTree(node))
  return { ...tree, entries }
}
