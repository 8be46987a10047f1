import { createHash } from 'node:crypto'
import { pathOf } from '../../name_key.ts'
import { currentGeneration, type Generation, nameGeneration } from './generation.ts'
import { type Doubts, keepReached, keepWithout } from './reach.ts'
import type { TargetNode, TargetTree } from './tree.ts'

/** The part of a source in the target. */
export interface Contribution {
  /** The source's path. */
  readonly source: string
  readonly entries: ReadonlyMap<string, TargetNode>
  /** The source's, by its name there. */
  readonly generation: Generation | undefined
  /** True: an earlier mirror left it. The source then has only what no other source has. */
  readonly isAdopted: boolean
  /** True: the source can give no more of it, as far as is known. An entry that somebody removes in the target is gone. */
  readonly isLastGood: boolean
  readonly doubts: Doubts
}

/** A name that two sources have: the first keeps it. */
interface Conflict {
  readonly name: string
  readonly sources: readonly [string, string]
}

/**
 * Merges several sources as a projected volume does: their entries side by side, and the keys of all AtomicWriter's directories in one
 * generation behind one `..data`.
 */
export function merge(
  contributions: readonly Contribution[],
  target: TargetTree,
): { readonly tree: TargetTree; readonly conflicts: readonly Conflict[] } {
  const parts = [...contributions].sort((a, b) => Number(a.isAdopted) - Number(b.isAdopted))
  const union = new Union()
  for (const { source, entries, isAdopted } of parts) union.add(entries, source, isAdopted)
  const entries = union.entries
  const generation = mergeGenerations(parts, union)
  const name = generation && nameGeneration(target, generation.name, generation.tree, entries)
  if (generation !== undefined && name !== undefined) {
    union.replace('..data', generation.source)
    entries.set(name, generation.tree)
    entries.set('..data', { kind: 'link', to: name })
  }
  const doubts = parts.map((each) => each.doubts)
  const tree = keepReached(target, { ...target, entries }, doubts)
  // The new keys wait if the old ones stay.
  const waits = name !== undefined && currentGeneration(tree)?.name !== name
  return { tree: waits ? keepWithout(target, tree, [name], doubts) : tree, conflicts: union.conflicts }
}

function mergeGenerations(
  contributions: readonly Contribution[],
  { conflicts }: Union,
): (Generation & { readonly source: string }) | undefined {
  const generations = contributions.flatMap(({ source, generation, isAdopted }) =>
    generation === undefined ? [] : [{ source, isAdopted, ...generation }],
  )
  const [first, ...others] = generations
  if (first === undefined || others.length === 0) return first
  const union = new Union()
  for (const { source, tree, isAdopted } of generations) union.add(tree.entries, source, isAdopted)
  // The user's links to the key mostly conflict as well.
  for (const conflict of union.conflicts)
    if (!conflicts.some(({ name }) => name === conflict.name)) conflicts.push(conflict)
  const names = createHash('sha256').update(pathOf(generations.map((each) => each.name).join('/')))
  return {
    source: first.source,
    name: `..merged_${names.digest('hex').slice(0, 16)}`,
    tree: { ...first.tree, entries: union.entries },
  }
}

/** Drops an earlier mirror's entries that another source turns out to have: when that source removes or changes one, it must not be kept for the first. */
export function withoutClaimed<T extends Contribution | undefined>(contributions: readonly T[]): T[] {
  const known = contributions.filter((each) => each?.isAdopted === false)
  const isFree = ([name]: readonly [string, unknown]) => !known.some((each) => each?.entries.has(name))
  const isFreeKey = ([name]: readonly [string, unknown]) =>
    !known.some((each) => each?.generation?.tree.entries.has(name))
  return contributions.map((each) => {
    if (!each?.isAdopted) return each
    const { entries, generation } = each
    const keys = new Map([...(generation?.tree.entries ?? [])].filter(isFreeKey))
    return {
      ...each,
      entries: new Map([...entries].filter(isFree)),
      generation:
        generation && keys.size > 0
          ? { ...generation, tree: { ...generation.tree, entries: keys } }
          : undefined,
    }
  })
}

class Union {
  readonly entries = new Map<string, TargetNode>()
  readonly conflicts: Conflict[] = []
  readonly #owners = new Map<string, string>()

  add(entries: ReadonlyMap<string, TargetNode>, source: string, isAdopted: boolean): void {
    for (const [name, node] of entries) {
      const owner = this.#owners.get(name)
      if (owner !== undefined) {
        if (!isAdopted) this.conflicts.push({ name, sources: [owner, source] })
        continue
      }
      this.#owners.set(name, source)
      this.entries.set(name, node)
    }
  }

  /** Makes room for an entry without which nothing else of `source` could be shown. */
  replace(name: string, source: string): void {
    const owner = this.#owners.get(name)
    if (owner === undefined) return
    this.conflicts.push({ name, sources: [source, owner] })
    this.entries.delete(name)
  }
}
