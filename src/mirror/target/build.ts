import { InotifyError } from '../../errors.ts'
import { leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import { copyAttributes, onTarget } from '../copy/safe_copy.ts'
import type { StagingArea } from '../copy/staging_area.ts'
import { currentGeneration } from '../plan/merge.ts'
import type { Step } from '../plan/plan.ts'
import { nodesIn, Placed, type TargetFile, type TargetNode, type TargetTree } from '../plan/tree.ts'
import { Displaced } from '../source/errors.ts'
import type { Target } from './target.ts'

/** An entry made in the work directory, ready to be renamed into place. */
export interface Built {
  /** Its name in the work directory. */
  readonly name: string
  /** The node as the target has it from then on. A file is the one that was planned. */
  readonly node: TargetNode & { readonly placed: Placed }
}

/** The outcome of building, by step: the ready entry, or the error. */
export type Ready = ReadonlyMap<Step, Built | InotifyError | Displaced>

/**
 * Makes what the steps are to put in place, before any of it is: so that it can be noted down by inode number first. Files have been
 * copied before.
 */
export async function buildAll(steps: readonly Step[], target: Target, work: StagingArea): Promise<Ready> {
  const ready = new Map<Step, Built | InotifyError | Displaced>()
  for (const step of steps) {
    // The link `..data` is made where the kubelet makes it.
    if (step.do !== 'place' || isData(step)) continue
    try {
      ready.set(step, await build(step.node, `${target.shown}/${step.path}`, work, target))
    } catch (error) {
      if (!(error instanceof InotifyError || error instanceof Displaced)) throw error
      ready.set(step, error)
    }
  }
  return ready
}

export function isData(step: Step): boolean {
  return step.do === 'place' && step.path === '..data' && step.node.kind === 'link'
}

/** Makes a node in the work directory, unless it is a file that is ready there. Nobody else comes into that. */
async function build(node: TargetNode, shown: string, work: StagingArea, target: Target): Promise<Built> {
  const { held } = work
  const { calls } = held
  if (node.kind === 'file') {
    const ready = await onTarget(shown, work.take(node))
    const { name, placed } =
      ready !== undefined && node.placed !== undefined
        ? { name: ready, placed: node.placed }
        : await linkPublished(node, work, target, shown)
    return { name, node: Object.assign(node, { placed }) }
  }
  const name = work.next()
  if (node.kind === 'link') {
    await onTarget(shown, calls.symlink(node.to, held.at(name)))
    return { name, node: { ...node, placed: new Placed(await onTarget(shown, held.lstat(name))) } }
  }
  // The thread keeps the order: what is made is opened and filled behind that.
  const mode = (Number(node.key.mode) & 0o777) | 0o700
  const making = onTarget(shown, calls.mkdir(held.at(name), mode))
  const opening = onTarget(shown, held.directory(name))
  const entries = new Map(node.entries)
  const filling = leavesAtOnce(node.entries, async (child, of) => {
    const at = `${shown}/${child}`
    const built = await build(of, at, work, target)
    await onTarget(at, calls.rename(held.at(built.name), held.at(`${name}/${child}`)))
    entries.set(child, built.node)
  })
  await Promise.allSettled([making, opening, filling])
  await making
  await using made = await opening
  await filling
  await copyAttributes(made, shown, node.key)
  return { name, node: { ...node, entries, placed: new Placed(await onTarget(shown, made.stat())) } }
}

/**
 * A hard link to a file of the generation that the target shows: what it holds does not change any more. Throws {@link Displaced} if
 * somebody has put another file there, or written to it.
 */
async function linkPublished(
  node: TargetFile,
  work: StagingArea,
  target: Target,
  shown: string,
): Promise<{ name: string; placed: Placed }> {
  const current = currentGeneration(target.opened.tree)
  const below = current && pathIn(current.tree, node)
  // Another source's pass has cleared it away since it was planned.
  if (current === undefined || below === undefined) throw new Displaced(shown)
  const path = `${current.name}/${below}`
  await using directory = await target.parentOf(path)
  const child = path.slice(path.lastIndexOf('/') + 1)
  const [{ held }, name] = [work, work.next()]
  await onTarget(shown, held.calls.link(directory.at(child), held.at(name)))
  const linked = await onTarget(shown, held.lstat(name))
  if (node.placed?.holds(linked) !== true) throw new Displaced(path)
  return { name, placed: new Placed(linked) }
}

/**
 * Returns true if the content of a node to be placed can be had. Another source's cannot if its pass had nothing to publish it for, as
 * an entry of the same name stood in its way.
 */
export function isAtHand(
  node: TargetNode,
  isReady: (node: TargetNode) => boolean,
  current: TargetTree | undefined,
): boolean {
  if (node.kind === 'link' || isReady(node)) return true
  if (node.kind === 'file') return current !== undefined && pathIn(current, node) !== undefined
  return [...node.entries.values()].every((child) => isAtHand(child, isReady, current))
}

function pathIn(tree: TargetTree, node: TargetNode): string | undefined {
  for (const [path, each] of nodesIn(tree)) if (each === node) return path
  return undefined
}
