import { posix } from 'node:path'
import { isOwn } from '../../mounts/syscalls/ownership.ts'
import { DATA_NEXT } from '../../volume/layout.ts'
import type { Staged } from '../copy/stager.ts'
import type { Snapshot } from '../source/snapshot.ts'
import type { Source } from '../source/source.ts'
import { type Contribution, currentGeneration } from './merge.ts'
import { NO_DOUBTS } from './reach.ts'
import type { Link, Missing, SourceTree, TargetNode, TargetTree } from './tree.ts'

/** Returns an earlier mirror's entries, for a source of which nothing better can be had yet. Other sources may claim parts of them. */
export function adopted(target: TargetTree, source: string): Contribution {
  const current = currentGeneration(target)
  const entries = new Map(target.entries)
  if (current !== undefined) for (const name of [current.name, '..data']) entries.delete(name)
  // Somebody has redirected the link since: it is no source's.
  else if (entries.get('..data')?.kind === 'link') entries.delete('..data')
  // A killed mirror leaves the draft as a link; any other entry of the name is a source's.
  if (current !== undefined && entries.get(DATA_NEXT)?.kind === 'link') entries.delete(DATA_NEXT)
  return {
    source,
    entries,
    generation: current,
    isAdopted: target.entries.size > 0,
    isLastGood: true,
    doubts: NO_DOUBTS,
  }
}

/**
 * Returns the new entries, beside the keys of the last good version: the new keys cannot be had, and links to them would dangle. A name
 * that shall become a key stays as it was.
 */
export function withLastKeys(entries: ReadonlyMap<string, TargetNode>, had: Contribution): Contribution {
  const kept = new Map([...entries].filter(([, node]) => !isKey(node)))
  for (const [name, node] of had.entries) {
    const next = entries.get(name)
    if (!kept.has(name) && (isKey(node) || (next !== undefined && isKey(next)))) kept.set(name, node)
  }
  return { ...had, entries: kept }
}

/**
 * Returns the last version of a source that is held over the limits. An earlier pass's links into the source lead on only while their
 * files exist: a file's successor may be one that must not be shown.
 */
export function heldVersion(
  had: Contribution,
  now: Pick<Staged, 'entries' | 'generation'>,
  source: string,
): Contribution {
  const keep = (
    entries: ReadonlyMap<string, TargetNode>,
    seen: ReadonlyMap<string, TargetNode> | undefined,
  ) => {
    const kept = new Map<string, TargetNode>()
    for (const [name, node] of entries) {
      const there = seen?.get(name)
      if (node.kind === 'directory') {
        const below = keep(node.entries, there?.kind === 'directory' ? there.entries : undefined)
        const isWhole = [...node.entries].every(([child, each]) => below.get(child) === each)
        kept.set(name, isWhole ? node : { ...node, entries: below })
      } else if (
        node.kind === 'file' ||
        !isInto(node.to, source) ||
        (there?.kind === 'link' && there.to === node.to)
      ) {
        kept.set(name, node)
      }
    }
    return kept
  }
  const { entries, generation } = had
  return {
    ...had,
    entries: keep(entries, now.entries),
    generation: generation && {
      ...generation,
      tree: { ...generation.tree, entries: keep(generation.tree.entries, now.generation?.tree.entries) },
    },
  }
}

/** Returns true if the source is shown by links into it, which this mirror or an earlier one has made. */
export function isShownByLinks({ entries, generation, isAdopted }: Contribution, source: string): boolean {
  // Others may have links of their own in a directory that they may write.
  const isBelieved = ({ key }: TargetTree) => !isAdopted || isOwn(key)
  const hasLinks = ({ entries }: Pick<Contribution, 'entries'>): boolean =>
    [...entries.values()].some((node) =>
      node.kind === 'link'
        ? isInto(node.to, source)
        : node.kind === 'directory' && isBelieved(node) && hasLinks(node),
    )
  return (
    hasLinks({ entries }) ||
    (generation !== undefined && isBelieved(generation.tree) && hasLinks(generation.tree))
  )
}

/**
 * A link for each file, so that readers see what is there, though without events. Directories are real ones: one that were a link
 * would show all that is in the source's, what is not mirrored as well. The keys of a ConfigMap lead over its `..data`, wherever in the
 * source that is, so that a swap there is seen at once, and nothing dangles when the version before is removed.
 */
export function linked(
  { tree, data, generation }: Pick<Snapshot, 'tree' | 'data' | 'generation'>,
  { path, alias }: Pick<Source, 'path' | 'alias'>,
): Staged {
  const missing: Missing[] = []
  const skip = (path: string, reason: string) => void missing.push({ path, reason, isPassing: false })
  const linkAll = (source: SourceTree, below: string): TargetTree => {
    const entries = new Map<string, TargetNode>()
    const current = source.entries.get('..data')
    for (const [name, node] of source.entries) {
      const at = below + (current?.kind === 'link' && current.to === name ? '..data' : name)
      if (below === '' && data !== undefined && (name === data || name === '..data')) continue
      if (node.kind === 'unreadable') skip(at, node.reason)
      else if (node.kind === 'directory') entries.set(name, linkAll(node, `${at}/`))
      else entries.set(name, node.kind === 'link' ? node : linkTo(alias === undefined ? at : ''))
    }
    return { kind: 'directory', key: source.key, entries }
  }
  const linkTo = (at: string): Link => ({ kind: 'link', to: posix.join(path, at) })

  const { entries } = linkAll(tree, '')
  const all = { entries, generation: undefined, missing, wanting: new Set<string>(), failures: [] }
  if (data === undefined) return all
  if (typeof generation !== 'string')
    return { ...all, generation: { name: data, tree: linkAll(generation, '..data/') } }
  skip('..data', generation)
  return all
}

/** Returns true for a link into the source: only a source over the limits is shown by absolute links. */
function isInto(to: string, source: string): boolean {
  return to === source || to.startsWith(source === '/' ? source : `${source}/`)
}

/** A user's link to a key, as the AtomicWriter makes it. */
function isKey(node: TargetNode): boolean {
  return node.kind === 'link' && (node.to === '..data' || node.to.startsWith('..data/'))
}
