import { currentGeneration } from './generation.ts'
import { type Doubts, follow, keepWithout } from './reach.ts'
import { nodeAt, sameAttributes, type TargetFile, type TargetNode, type TargetTree } from './tree.ts'

/** One change of the target. `path` is relative to it. */
export type Step =
  /** Makes `node` in the staging directory and renames it to `path`. The steps behind an `essential` one build on it. */
  | { readonly do: 'place'; readonly path: string; readonly node: TargetNode; readonly essential: boolean }
  /** Gives what is there the owner and mode of `node`. */
  | { readonly do: 'attributes'; readonly path: string; readonly node: TargetFile | TargetTree }
  /** The same content under a new stat key, a touch: nothing to do but to remember it. */
  | { readonly do: 'remember'; readonly path: string; readonly node: TargetFile }
  | { readonly do: 'remove'; readonly path: string }

/** Returns true if later steps build on a step. */
export function isEssential(step: Step): boolean {
  return step.do === 'place' && step.essential
}

/** Returns true for a step about entries that readers reach without the generation: none of these needs an essential step. */
export function isApart(step: Step): boolean {
  if (step.do === 'remove') return false
  return step.do !== 'place' || (!step.essential && !hasLinks(step.node))
}

function hasLinks(node: TargetNode): boolean {
  return node.kind === 'link' || (node.kind === 'directory' && [...node.entries.values()].some(hasLinks))
}

/**
 * The order in which steps are safe. A reader comes by a link, by `..data`, by the generation's directory. So a target is placed before
 * its links, and removed after them; and removals come when all that is new is in place. Links over `..data` come behind it, others
 * before: they may replace a key that the next generation lacks.
 */
const ORDER = [
  'place generation',
  'place',
  'place link',
  'place ..data',
  'place key',
  'remove link',
  'remove ..data',
  'remove',
  'remove generation',
] as const

/** The steps that turn what the target has into what it shall have. */
export function plan(target: TargetTree, desired: TargetTree): Step[] {
  const generations = { old: currentGeneration(target)?.name, next: currentGeneration(desired)?.name }
  const steps = new Map<(typeof ORDER)[number], Step[]>(ORDER.map((rank) => [rank, []]))

  const rankOf = (path: string, node: TargetNode) => {
    if (path === generations.next) return 'place generation'
    if (path === '..data') return 'place ..data'
    if (node.kind !== 'link') return 'place'
    return leadsOverData(desired, path) ? 'place key' : 'place link'
  }
  const place = (path: string, node: TargetNode, old?: TargetNode) => {
    const rank = rankOf(path, node)
    const wasKey = old?.kind === 'link' && leadsOverData(target, path)
    const essential =
      rank === 'place generation' || rank === 'place ..data' || (wasKey && rank !== 'place key')
    steps.get(rank)?.push({ do: 'place', path, node, essential })
  }
  // Another source's entry of that name waits: until `..data` has moved, readers come through the old one.
  const isLeft = (path: string) =>
    path === generations.old && generations.next !== undefined && path !== generations.next
  const remove = (path: string, node: TargetNode) => {
    const rank =
      path === generations.old
        ? 'remove generation'
        : path === '..data'
          ? 'remove ..data'
          : node.kind === 'link'
            ? 'remove link'
            : 'remove'
    steps.get(rank)?.push({ do: 'remove', path })
  }
  const inPlace = (step: Step) => steps.get('place')?.push(step)

  const compare = (path: string, old: TargetNode, node: TargetNode) => {
    if (old === node) return
    if (old.kind === 'link' && node.kind === 'link' && old.to === node.to) return
    if (old.kind === 'directory' && node.kind === 'directory') {
      descend(`${path}/`, old, node)
      // Last: the new mode may forbid to write into it.
      if (!sameAttributes(old.key, node.key)) inPlace({ do: 'attributes', path, node })
    } else if (old.kind === 'file' && node.kind === 'file' && old.digest === node.digest) {
      inPlace({ do: sameAttributes(old.key, node.key) ? 'remember' : 'attributes', path, node })
    } else {
      place(path, node, old)
    }
  }
  const descend = (prefix: string, old: TargetTree, next: TargetTree) => {
    for (const [name, node] of next.entries) {
      const had = old.entries.get(name)
      if (had === undefined) place(prefix + name, node)
      else if (isLeft(prefix + name)) remove(prefix + name, had)
      else compare(prefix + name, had, node)
    }
    for (const [name, node] of old.entries) if (!next.entries.has(name)) remove(prefix + name, node)
  }
  descend('', target, desired)
  // A link to a link comes behind that: more links are on its way.
  const hops = ({ path }: Step) => follow(desired, path).links.length
  for (const rank of ['place link', 'place key'] as const) steps.get(rank)?.sort((a, b) => hops(a) - hops(b))
  return [...steps.values()].flat()
}

/**
 * Returns the steps that are still safe where others failed or were dropped: no reader loses an entry by them.
 *
 * @param target what the target has by now
 */
export function safeWithout(
  failed: Iterable<string>,
  steps: readonly Step[],
  target: TargetTree,
  desired: TargetTree,
  doubts: readonly Doubts[],
): Step[] {
  const left = new Set(failed)
  for (;;) {
    const kept = keepWithout(target, desired, left, doubts)
    const [safe, unsafe]: [Step[], Step[]] = [[], []]
    for (const step of steps) {
      const isSafe = nodeAt(kept, step.path) === (step.do === 'remove' ? undefined : step.node)
      ;(isSafe ? safe : unsafe).push(step)
    }
    const more = unsafe.filter((step) => step.do === 'place' && !left.has(step.path))
    if (more.length === 0) return safe
    for (const { path } of more) left.add(path)
  }
}

/** Returns true if the way of a reader of the link `path` comes over `..data`, whether or not there is one. */
function leadsOverData(tree: TargetTree, path: string): boolean {
  const { links, end } = follow(tree, path)
  return links.includes('..data') || end === '..data' || end.startsWith('..data/')
}
