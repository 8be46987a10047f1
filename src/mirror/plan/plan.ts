import { currentGeneration } from './merge.ts'
import { type Doubts, follow, keepWithout } from './reach.ts'
import { nodeAt, sameAttributes, type TargetFile, type TargetNode, type TargetTree } from './tree.ts'

/** One change of the target. `path` is relative to it. */
export type Step =
  /** Makes `node` in the staging directory and renames it to `path`. */
  | { readonly do: 'place'; readonly path: string; readonly node: TargetNode }
  /** Gives what is there the owner and mode of `node`. */
  | { readonly do: 'attributes'; readonly path: string; readonly node: TargetFile | TargetTree }
  /** The same content under a new stat key, a touch: nothing to do but to remember it. */
  | { readonly do: 'remember'; readonly path: string; readonly node: TargetFile }
  | { readonly do: 'remove'; readonly path: string }

/**
 * The steps that turn what the target has into what it shall have, in an order that is safe. A reader comes by links. So a target is placed
 * before its links, and removed after them; and removals come when all that is new is in place.
 */
export function plan(target: TargetTree, desired: TargetTree): Step[] {
  const generations = { old: currentGeneration(target)?.name, next: currentGeneration(desired)?.name }
  const placed: Step[] = []
  const links: Step[] = []
  const removedLinks: string[] = []
  const removed: string[] = []

  const place = (path: string, node: TargetNode) => {
    const steps = node.kind === 'link' ? links : placed
    steps.push({ do: 'place', path, node })
  }
  // Another source's entry of that name waits: until `..data` has moved, readers come through the old one.
  const isLeft = (path: string) =>
    path === generations.old && generations.next !== undefined && path !== generations.next
  const remove = (path: string, node: TargetNode) =>
    void (node.kind === 'link' ? removedLinks : removed).push(path)

  const compare = (path: string, old: TargetNode, node: TargetNode) => {
    if (old === node) return
    if (old.kind === 'link' && node.kind === 'link' && old.to === node.to) return
    if (old.kind === 'directory' && node.kind === 'directory') {
      descend(`${path}/`, old, node)
      // Last: the new mode may forbid to write into it.
      if (!sameAttributes(old.key, node.key)) placed.push({ do: 'attributes', path, node })
    } else if (old.kind === 'file' && node.kind === 'file' && old.digest === node.digest) {
      placed.push({ do: sameAttributes(old.key, node.key) ? 'remember' : 'attributes', path, node })
    } else {
      place(path, node)
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
  const hops = (path: string) => follow(target, path).links.length
  removedLinks.sort((a, b) => hops(b) - hops(a))
  const gone = [...removedLinks, ...removed].map((path) => ({ do: 'remove', path }) as const)
  return [...placed, ...inOrder(links, target, desired), ...gone]
}

/**
 * Orders the placing of links. A link comes behind those on its new way; and behind others that no longer lead over it, as it may not lead to what they
 * need any more.
 */
function inOrder(steps: readonly Step[], target: TargetTree, desired: TargetTree): Step[] {
  const earlier = new Map<string, string[]>(steps.map(({ path }) => [path, []]))
  for (const { path } of steps) {
    const next = follow(desired, path).links
    earlier.get(path)?.push(...next)
    for (const each of follow(target, path).links) if (!next.includes(each)) earlier.get(each)?.push(path)
  }
  const of = new Map(steps.map((step) => [step.path, step]))
  const seen = new Set<string>()
  const ordered: Step[] = []
  for (const first of steps) {
    // A chain may have 65,536 links: too many for calls within calls.
    const open = seen.has(first.path) ? [] : [{ step: first, left: (earlier.get(first.path) ?? []).values() }]
    seen.add(first.path)
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const { value: path, done } = top.left.next()
      if (done) {
        ordered.push(top.step)
        open.pop()
        continue
      }
      const step = of.get(path)
      if (step === undefined || seen.has(path)) continue
      seen.add(path)
      open.push({ step, left: (earlier.get(path) ?? []).values() })
    }
  }
  return ordered
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
