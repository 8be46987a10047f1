import { createHash } from 'node:crypto'
import { pathOf, textOf } from '../../name_key.ts'
import { type Doubts, keepReached, keepWithout } from './reach.ts'
import { type Link, nodesIn, sameContent, type TargetFile, type TargetNode, type TargetTree } from './tree.ts'

/** The directory behind `..data`: a complete set of keys that is published as one. */
export interface Generation {
  readonly name: string
  readonly tree: TargetTree
}

/** The part of a source in the target. */
export interface Contribution {
  /** The source's path. */
  readonly source: string
  readonly entries: ReadonlyMap<string, TargetNode>
  /** The source's, by its name there. */
  readonly generation: Generation | undefined
  /** True: an earlier mirror left it. The source then has only what no other source has. */
  readonly isAdopted: boolean
  /** True: what the source gave last; it cannot give its present version whole. An entry of it that somebody removes in the target is gone. */
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

/** The generation that the target shows; undefined if it has none. */
export function currentGeneration(target: TargetTree): Generation | undefined {
  const data = target.entries.get('..data')
  if (data?.kind !== 'link') return undefined
  const tree = target.entries.get(data.to)
  return tree?.kind === 'directory' ? { name: data.to, tree } : undefined
}

/**
 * The name under which a copy of the source's directory `data` is published: its own; or that of a generation with the
 * same content which the target has already. The same name with other content (the source was not changed by an
 * AtomicWriter) gets a suffix, since a directory cannot be replaced by rename(2) unless it is empty.
 *
 * @param others entries that the target shall have beside it: a source without a `..data` may have one of such a name
 */
export function nameGeneration(
  target: TargetTree,
  data: string,
  copy: TargetTree,
  others: Pick<ReadonlyMap<string, unknown>, 'has'> = new Map(),
): string {
  const current = currentGeneration(target)
  const candidates = current?.name.startsWith(`${data}.~`) ? [current.name, data] : [data]
  for (const name of candidates) {
    const published = others.has(name) ? undefined : target.entries.get(name)
    if (published !== undefined && sameContent(published, copy)) return name
  }
  let name = data
  for (let n = 1; target.entries.has(name) || others.has(name); n++) name = `${data}.~${n}`
  return name
}

/** Returns true if the target shows this very copy of a source's generation, alone or among those of others. */
export function isShown(target: TargetTree, copy: TargetTree): boolean {
  const current = currentGeneration(target)
  return current !== undefined && holds(current.tree, copy)
}

function holds(tree: TargetTree, part: TargetTree): boolean {
  return [...part.entries].every(([name, node]) => {
    const shown = tree.entries.get(name)
    if (node.kind === 'directory') return shown?.kind === 'directory' && holds(shown, node)
    return shown === node || (node.kind === 'link' && shown !== undefined && sameContent(node, shown))
  })
}

/**
 * The names, as a consumer of the target uses them, of the files and links that differ between two states of it:
 * `app.yaml`, not the directories and links behind it. As text: two that are no UTF-8 may be one.
 */
export function changedNames(old: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const names = new Set([...old.keys(), ...now.keys()])
  const changed = [...names].filter((name) => old.get(name) !== now.get(name))
  return [...new Set(changed.map(textOf))].sort()
}

/** Returns for every visible name what a reader finds there. A key is its link and the file behind it under one name. */
export function facesOf(target: TargetTree): ReadonlyMap<string, string> {
  const faces = new Map<string, string>()
  const current = currentGeneration(target)?.tree
  for (const { entries } of current === undefined ? [target] : [target, current]) {
    const visible = [...entries].filter(([name, node]) => name !== '..data' && node !== current)
    for (const [path, node] of nodesIn({ entries: new Map(visible) }))
      if (node.kind !== 'directory') faces.set(path, `${faces.get(path) ?? ''} ${faceOf(node)}`)
  }
  return faces
}

function faceOf(node: TargetFile | Link): string {
  if (node.kind === 'link') return `-> ${node.to}`
  return `${node.digest} ${node.key.mode} ${node.key.uid} ${node.key.gid}`
}
