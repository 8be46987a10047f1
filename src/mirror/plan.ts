import { currentGeneration } from './generation.ts'
import type { Snapshot } from './snapshot.ts'
import { sameAttributes, type TargetFile, type TargetNode, type TargetTree } from './tree.ts'

/** One change of the target. `path` is relative to it. */
export type Step =
  /** Makes `node` in the staging directory and renames it to `path`. The steps behind an `essential` one build on it. */
  | { readonly do: 'place'; readonly path: string; readonly node: TargetNode; readonly essential: boolean }
  /** Gives what is there the owner and mode of `node`. */
  | { readonly do: 'attributes'; readonly path: string; readonly node: TargetFile | TargetTree }
  /** The same content under a new stat key, a touch: nothing to do but to remember it. */
  | { readonly do: 'remember'; readonly path: string; readonly node: TargetFile }
  | { readonly do: 'remove'; readonly path: string }

/**
 * The order in which steps are safe. A reader comes by a link, by `..data`, by the generation's directory: so what is led
 * to comes before what leads there, and goes after it; and whatever goes does so when all that is new is in place.
 */
const ORDER = [
  'place generation',
  'place ..data',
  'place',
  'place link',
  'remove link',
  'remove ..data',
  'remove',
  'remove generation',
] as const

/** The steps that turn what the target has into what it shall have. */
export function plan(target: TargetTree, desired: TargetTree): Step[] {
  const generations = { old: currentGeneration(target)?.name, next: currentGeneration(desired)?.name }
  const steps = new Map<(typeof ORDER)[number], Step[]>(ORDER.map((rank) => [rank, []]))

  const place = (path: string, node: TargetNode) => {
    const rank =
      path === generations.next
        ? 'place generation'
        : path === '..data'
          ? 'place ..data'
          : node.kind === 'link'
            ? 'place link'
            : 'place'
    const essential = rank === 'place generation' || rank === 'place ..data'
    steps.get(rank)?.push({ do: 'place', path, node, essential })
  }
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
      place(path, node)
    }
  }
  const descend = (prefix: string, old: TargetTree, next: TargetTree) => {
    for (const [name, node] of next.entries) {
      const had = old.entries.get(name)
      if (had === undefined) place(prefix + name, node)
      else compare(prefix + name, had, node)
    }
    for (const [name, node] of old.entries) if (!next.entries.has(name)) remove(prefix + name, node)
  }
  descend('', target, desired)
  return [...steps.values()].flat()
}

/**
 * What a source over the limits adds to the target: every entry a link into the source, so that its readers see what is there,
 * though without events. Links between entries stay as they are; where other sources are mirrored as well, which have a `..data` of
 * their own, a key's link leads into the source too.
 */
export function linked(
  { tree, data }: Pick<Snapshot, 'tree' | 'data'>,
  source: string,
  isOnly: boolean,
): Map<string, TargetNode> {
  const entries = new Map<string, TargetNode>()
  for (const [name, node] of tree.entries) {
    if (name === data || (name === '..data' && data !== undefined && !isOnly)) continue
    const isKey = node.kind === 'link' && node.to.startsWith('..data/')
    const keep = node.kind === 'link' && name !== '..data' && (isOnly || !isKey)
    entries.set(name, keep ? node : { kind: 'link', to: `${source}/${name}` })
  }
  return entries
}
