import type { BigIntStats } from 'node:fs'
import { InotifyError } from '../errors.ts'
import type { HeldDirectory } from '../mounts/held.ts'
import { apply, type Target } from './apply.ts'
import { changedNames } from './changed.ts'
import { losesSource, Replaced, reasonOf, Torn } from './interrupted.ts'
import type { MirrorConfig } from './options.ts'
import { linked, plan, type Step } from './plan.ts'
import { readData, type ScanRules, type Snapshot, scan, verify } from './snapshot.ts'
import type { Source } from './source.ts'
import { type Emptied, type Staged, stage } from './stage.ts'
import type { Staging } from './staging.ts'
import { type Skipped, type StatKey, sameKey, statKey, type TargetTree } from './tree.ts'

/** How often a scan that raced the source's writer is begun again at once. */
const ATTEMPTS = 3

/** What a pass found and did. */
export type Outcome =
  | { readonly found: 'nothing new' }
  | { readonly found: 'torn'; readonly path: string; readonly reason: string }
  | { readonly found: 'lost'; readonly reason: string }
  | ({
      readonly found: 'source'
      /** Why it is over the limits. */
      readonly over: string | undefined
      readonly skipped: readonly Skipped[]
    } & Published)

interface Published {
  /** Names that have changed for consumers; undefined if nothing was published. */
  readonly changed: string[] | undefined
  readonly failures: readonly InotifyError[]
}

/** By what a pass knows that nothing in an AtomicWriter's directory has changed since the last. */
interface Seen {
  readonly data: string
  readonly key: StatKey
}

/** What the passes of a mirror work with. */
export interface PassContext {
  readonly config: MirrorConfig
  readonly source: Source
  readonly target: Target
  readonly staging: Staging
  readonly rules: ScanRules
  /** Whether the target had something from an earlier mirror. */
  readonly inherited: boolean
}

/** Looks at the source and brings the target up to it, once for each {@link run}. Runs must not overlap. */
export class Passes {
  readonly #context: PassContext
  #seen: Seen | undefined
  #emptied: Emptied = new Map()

  constructor(context: PassContext) {
    this.#context = context
  }

  /**
   * One pass. Rejects with an {@link InotifyError} if the staging directory fails it.
   *
   * @param thorough look at every file, also where a look at `..data` should do
   */
  async run(thorough: boolean): Promise<Outcome> {
    try {
      for (let left = ATTEMPTS; ; left--) {
        try {
          return await this.#attempt(thorough)
        } catch (error) {
          if (!(error instanceof Torn || error instanceof Replaced)) throw error
          const path = error instanceof Torn ? '..data' : ''
          if (left === 1) return { found: 'torn', path, reason: error.message }
        } finally {
          await this.#context.staging.clear()
        }
      }
    } catch (error) {
      if (losesSource(error) || isOfSource(error)) {
        this.#seen = undefined
        return { found: 'lost', reason: reasonOf(error) }
      }
      throw error
    }
  }

  /** Removes from the target all that the mirror has put there. */
  async withdraw(): Promise<readonly InotifyError[]> {
    const { target, staging } = this.#context
    const nothing: TargetTree = { ...target.tree, entries: new Map() }
    return (await apply(plan(target.tree, nothing), target, staging)).failures
  }

  async #attempt(thorough: boolean): Promise<Outcome> {
    const { held, stat } = await this.#context.source.open(thorough)
    await using root = held
    if (!thorough && (await this.#isAsSeen(root, stat))) return { found: 'nothing new' }
    return await this.#look(root)
  }

  /** The quiet pass of an AtomicWriter's directory: a look-up, a readlink and a stat, however many keys there are. */
  async #isAsSeen(root: HeldDirectory, stat: BigIntStats): Promise<boolean> {
    const seen = this.#seen
    return seen !== undefined && sameKey(statKey(stat), seen.key) && (await readData(root)) === seen.data
  }

  async #look(root: HeldDirectory): Promise<Outcome> {
    this.#seen = undefined
    const snapshot = await scan(root, this.#context.rules)
    const staged = await this.#desire(root, snapshot)
    this.#emptied = staged.emptied
    await verify(root, snapshot)
    const { changed, failures } = await this.#publish(root, staged.tree)
    const complete = staged.skipped.length + staged.failures.length + failures.length === 0
    this.#seen = complete ? whatSuffices(snapshot) : undefined
    return {
      found: 'source',
      over: snapshot.over,
      changed,
      skipped: [...snapshot.skipped, ...staged.skipped],
      failures: [...staged.failures, ...failures],
    }
  }

  async #desire(root: HeldDirectory, snapshot: Snapshot): Promise<Staged> {
    const { config, target, staging } = this.#context
    if (snapshot.over === undefined) {
      return stage(root, snapshot, target.tree, staging, config.quiet, this.#emptied)
    }
    const link = config.overLimit === 'link' && !snapshot.endless
    const tree = link ? linked(snapshot, config.source) : target.tree
    return { tree, skipped: [], failures: [], emptied: new Map() }
  }

  async #publish(root: HeldDirectory, desired: TargetTree): Promise<Published> {
    const { source, target, staging } = this.#context
    let steps = plan(target.tree, desired)
    if (steps.length === 0) return { changed: undefined, failures: [] }
    if (steps.some((step) => step.do === 'remove')) await source.confirm(root)
    const before = copyTree(target.tree)
    const unrecorded: InotifyError[] = []
    try {
      await staging.record(new Set([...target.tree.entries.keys(), ...desired.entries.keys()]))
    } catch (error) {
      if (!(error instanceof InotifyError)) throw error
      unrecorded.push(error)
      steps = withoutNew(steps, new Set(staging.made))
    }
    const { visible, failures } = await apply(steps, target, staging)
    const changed = visible ? changedNames(before, target.tree) : undefined
    return { changed, failures: [...unrecorded, ...failures] }
  }
}

/**
 * What can be done if names that are new cannot be noted down, since the target is full: all the rest, which may make room.
 * A generation that is not placed must not be led to.
 */
function withoutNew(steps: readonly Step[], recorded: ReadonlySet<string>): Step[] {
  const isKnown = (step: Step) => recorded.has(step.path.split('/')[0] ?? '')
  if (steps.some((step) => step.do === 'place' && step.essential && !isKnown(step))) return []
  return steps.filter(isKnown)
}

/** Errors of the target are turned into InotifyErrors where they occur; a bare one of node:fs is the source root's. */
function isOfSource(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && !(error instanceof InotifyError)
}

/** What a quiet pass may go by; undefined if there is anything beside `..data` that changes without changing the directory. */
function whatSuffices({ data, tree }: Snapshot): Seen | undefined {
  if (data === undefined) return undefined
  for (const [name, { kind }] of tree.entries) if (name !== data && kind !== 'link') return undefined
  return { data, key: tree.key }
}

/** The tree of the target is changed step by step; its leaves are not. */
function copyTree(tree: TargetTree): TargetTree {
  const entries = new Map(tree.entries)
  for (const [name, node] of entries) if (node.kind === 'directory') entries.set(name, copyTree(node))
  return { ...tree, entries }
}
