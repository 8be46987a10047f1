import { InotifyError } from '../../errors.ts'
import { leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { copyAttributes, onTarget } from '../copy/safe_copy.ts'
import type { Built, StagingArea } from '../copy/staging_area.ts'
import { currentGeneration } from '../plan/generation.ts'
import type { Step } from '../plan/plan.ts'
import type { TargetFile, TargetNode, TargetTree } from '../plan/tree.ts'
import { Displaced } from '../source/errors.ts'
import type { Target } from './target.ts'

/** The outcome of building, by step: the ready entry (inodes by their paths in the target), or the error. */
export type Ready = ReadonlyMap<Step, Built | InotifyError | Displaced>

/**
 * Makes what the steps are to put in place, before any of it is: so that it can be noted down by inode number first. Files have been
 * copied before.
 */
export async function buildAll(
  steps: readonly Step[],
  target: Target,
  openWork: () => Promise<StagingArea>,
): Promise<Ready> {
  const ready = new Map<Step, Built | InotifyError | Displaced>()
  for (const step of steps) {
    // The link `..data` is made where the kubelet makes it.
    if (step.do !== 'place' || isData(step)) continue
    try {
      ready.set(step, await buildStep(step, target, await openWork()))
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

/** Begins to make a directory whose files have all been copied, for {@link buildAll} to find it ready. */
export function buildAhead(tree: TargetTree, work: StagingArea, name: string): void {
  const inodes = new Map<string, FileStat>()
  const making = build(tree, '', { work, shown: `${work.shown}/${name}`, inodes, from: undefined })
  work.begin(
    tree,
    making.then((made) => ({ name: made, inodes })),
  )
}

async function buildStep(
  { path, node }: Extract<Step, { do: 'place' }>,
  target: Target,
  work: StagingArea,
): Promise<Built> {
  const begun = node.kind === 'directory' ? work.begun(node) : undefined
  const shown = `${target.shown}/${path}`
  const made = new Map<string, FileStat>()
  const { name, inodes } = (await begun) ?? {
    name: await build(node, '', { work, shown, inodes: made, from: target }),
    inodes: made,
  }
  return { name, inodes: new Map([...inodes].map(([at, inode]) => [path + at, inode])) }
}

interface Building {
  readonly work: StagingArea
  readonly shown: string
  /** Filled during the making; by paths that begin with '/', '' for the node itself. */
  readonly inodes: Map<string, FileStat>
  /** The target whose generation has another source's files. */
  readonly from: Target | undefined
}

/** Makes a node in the work directory and returns its name there. Nobody else comes into that. */
async function build(node: TargetNode, at: string, building: Building): Promise<string> {
  const { work, inodes } = building
  const { held } = work
  const { calls } = held
  const shown = building.shown + at
  if (node.kind === 'file') {
    const staged = await onTarget('rename', shown, work.take(node))
    const name = staged ?? work.next()
    if (staged === undefined) await linkPublished(node, building, name, shown)
    inodes.set(at, await onTarget('stat', shown, held.lstat(name)))
    return name
  }
  const name = work.next()
  if (node.kind === 'link') {
    await onTarget('symlink', shown, calls.symlink(node.to, held.at(name)))
    inodes.set(at, await onTarget('stat', shown, held.lstat(name)))
    return name
  }
  // The thread keeps the order: what is made is opened and filled behind that.
  const mode = (Number(node.key.mode) & 0o777) | 0o700
  const making = onTarget('mkdir', shown, calls.mkdir(held.at(name), mode))
  const opening = onTarget('open', shown, held.directory(name))
  const filling = leavesAtOnce(node.entries, async (child, of) => {
    const built = await build(of, `${at}/${child}`, building)
    await onTarget('rename', `${shown}/${child}`, calls.rename(held.at(built), held.at(`${name}/${child}`)))
  })
  await Promise.allSettled([making, opening, filling])
  await making
  await using made = await opening
  await filling
  await copyAttributes(made, shown, node.key)
  inodes.set(at, await onTarget('stat', shown, made.stat()))
  return name
}

/**
 * A hard link to a file of the generation that the target shows: what it holds does not change any more. Throws {@link Displaced} if
 * somebody has put another file there, or written to it.
 */
async function linkPublished(
  node: TargetFile,
  { from: target, work: { held } }: Building,
  name: string,
  shown: string,
): Promise<void> {
  const current = target && currentGeneration(target.tree)
  const below = current && pathIn(current.tree, node)
  if (target === undefined || current === undefined || below === undefined)
    // Another source's pass has cleared it away since it was planned.
    throw new Displaced(shown)
  const path = `${current.name}/${below}`
  await using directory = await target.parentOf(path)
  const child = path.slice(path.lastIndexOf('/') + 1)
  await onTarget('link', shown, held.calls.link(directory.at(child), held.at(name)))
  const linked = await onTarget('stat', shown, held.lstat(name))
  if (!target.inventory.holds(path, linked)) throw new Displaced(path)
}

/**
 * Returns true if the content of a node to be placed can be had. Another source's cannot if its pass had nothing to publish it for, as
 * an entry of the same name stood in its way.
 */
export async function isAtHand(
  node: TargetNode,
  isStaged: (node: TargetNode) => Promise<boolean>,
  current: TargetTree | undefined,
): Promise<boolean> {
  if (node.kind === 'link') return true
  if (node.kind === 'file')
    return (current !== undefined && pathIn(current, node) !== undefined) || (await isStaged(node))
  if (await isStaged(node)) return true
  for (const child of node.entries.values()) if (!(await isAtHand(child, isStaged, current))) return false
  return true
}

function pathIn(tree: TargetTree, node: TargetNode): string | undefined {
  for (const [name, child] of tree.entries) {
    if (child === node) return name
    const below = child.kind === 'directory' ? pathIn(child, node) : undefined
    if (below !== undefined) return `${name}/${below}`
  }
  return undefined
}
