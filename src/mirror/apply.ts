import { InotifyError } from '../errors.ts'
import { RENAME_EXCHANGE } from '../mounts/calls.ts'
import type { HeldDirectory } from '../mounts/held.ts'
import { leavesAtOnce } from './at_once.ts'
import { currentGeneration } from './generation.ts'
import { codeOf } from './interrupted.ts'
import type { Step } from './plan.ts'
import { removeTree } from './remove_tree.ts'
import { copyAttributes, onTarget } from './safe_copy.ts'
import type { TargetFile, TargetNode, TargetTree } from './tree.ts'
import type { Work } from './work.ts'

/** A target: its directory, how people call it, and what the mirror has put there. */
export interface Target {
  readonly held: HeldDirectory
  readonly shown: string
  readonly tree: TargetTree
}

/** What came of a plan. */
export interface Applied {
  /** Whether anything that a reader or a watcher could notice has changed. */
  readonly visible: boolean
  readonly failures: readonly InotifyError[]
}

/**
 * Carries out the steps of a plan in their order. `target.tree` follows each step that has succeeded and no other, so what
 * failed is planned again the next time.
 */
export async function apply(
  steps: readonly Step[],
  target: Target,
  work: () => Promise<Work>,
): Promise<Applied> {
  const failures: InotifyError[] = []
  let visible = false
  for (const step of steps) {
    try {
      await carryOut(step, target, work)
    } catch (error) {
      if (!(error instanceof InotifyError)) throw error
      failures.push(error)
      // Without the new generation `..data` must not move, and without `..data` the old generation must not go.
      if (step.do === 'place' && step.essential) break
      continue
    }
    visible ||= step.do !== 'remember'
    believe(target.tree, step)
  }
  return { visible, failures }
}

async function carryOut(step: Step, target: Target, openWork: () => Promise<Work>): Promise<void> {
  if (step.do === 'remember') return
  const shown = `${target.shown}/${step.path}`
  const at = step.path.lastIndexOf('/')
  const name = step.path.slice(at + 1)
  if (at < 0) return await carryOutIn(target.held, name, step, target, openWork)
  await using parent = await onTarget('open', shown, target.held.descend(step.path.slice(0, at)))
  return await carryOutIn(parent, name, step, target, openWork)
}

async function carryOutIn(
  parent: HeldDirectory,
  name: string,
  step: Exclude<Step, { do: 'remember' }>,
  target: Target,
  openWork: () => Promise<Work>,
): Promise<void> {
  const shown = `${target.shown}/${step.path}`
  if (step.do === 'remove') return await onTarget('unlink', shown, removeTree(parent, name))
  if (step.do === 'attributes') {
    // By a descriptor: chmod(2) follows symlinks, and one that took the entry's place must not be followed.
    await using entry = await onTarget('open', shown, parent.hold(name))
    return await copyAttributes(entry, shown, step.node.key)
  }
  if (step.path === '..data' && step.node.kind === 'link') {
    return await onTarget('rename', shown, swapData(parent, step.node.to))
  }
  const work = await openWork()
  const made = await build(step.node, work, shown, step.essential ? target : undefined)
  await onTarget('rename', shown, publish(made, parent, name, work))
}

/** As the AtomicWriter does it: consumers and their filters know `..data_tmp`. */
async function swapData(parent: HeldDirectory, to: string): Promise<void> {
  const { calls } = parent
  try {
    await calls.symlink(to, parent.at('..data_tmp'))
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    // Left from a mirror that was killed between these lines.
    await removeTree(parent, '..data_tmp')
    await calls.symlink(to, parent.at('..data_tmp'))
  }
  try {
    await calls.rename(parent.at('..data_tmp'), parent.at('..data'))
  } catch (error) {
    await calls.unlink(parent.at('..data_tmp'))
    throw error
  }
}

/** Begins to make a directory whose files have all been copied, for {@link apply} to find it ready. */
export function buildAhead(tree: TargetTree, work: Work, name: string): void {
  work.begin(tree, build(tree, work, `${work.shown}/${name}`, undefined))
}

/**
 * Makes a node in the work directory and returns its name there. Files have been copied before; of a generation, those that
 * another source has added to the one before it are linked from there.
 */
async function build(node: TargetNode, work: Work, shown: string, from: Target | undefined): Promise<string> {
  const { held } = work
  const { calls } = held
  if (node.kind === 'file') {
    const staged = await onTarget('rename', shown, work.take(node))
    if (staged !== undefined) return staged
    const name = work.next()
    await onTarget('link', shown, linkPublished(node, from, held, name))
    return name
  }
  const begun = node.kind === 'directory' && work.begun(node)
  if (begun) return await begun
  const name = work.next()
  if (node.kind === 'link') {
    await onTarget('symlink', shown, calls.symlink(node.to, held.at(name)))
    return name
  }
  // The thread keeps the order: what is made is opened and filled behind that, and nobody else comes into the work directory.
  const mode = (Number(node.key.mode) & 0o777) | 0o700
  const making = onTarget('mkdir', shown, calls.mkdir(held.at(name), mode))
  const opening = onTarget('open', shown, held.directory(name))
  const filling = leavesAtOnce(node.entries, async (child, of) => {
    const built = await build(of, work, `${shown}/${child}`, from)
    await onTarget('rename', shown, calls.rename(held.at(built), held.at(`${name}/${child}`)))
  })
  await Promise.allSettled([making, opening, filling])
  await making
  await using made = await opening
  await filling
  await copyAttributes(made, shown, node.key)
  return name
}

/** A hard link to a file of the generation that the target shows: what it holds does not change any more. */
async function linkPublished(
  node: TargetNode,
  target: Target | undefined,
  held: HeldDirectory,
  name: string,
): Promise<void> {
  const current = target && currentGeneration(target.tree)
  const path = current && pathIn(current.tree, node)
  if (target === undefined || current === undefined || path === undefined)
    throw new Error(`planned without content: ${name}`)
  const at = path.lastIndexOf('/')
  await using directory = await target.held.descend([current.name, ...path.split('/').slice(0, -1)].join('/'))
  await held.calls.link(directory.at(path.slice(at + 1)), held.at(name))
}

/**
 * Whether the content of a node to be placed can be had. That of another source cannot where its pass had nothing to publish it for,
 * as an entry of the same name stood in its way.
 */
export async function isAtHand(
  node: TargetNode,
  isStaged: (file: TargetFile) => Promise<boolean>,
  current: TargetTree | undefined,
): Promise<boolean> {
  if (node.kind === 'link') return true
  if (node.kind === 'file')
    return (current !== undefined && pathIn(current, node) !== undefined) || (await isStaged(node))
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

/**
 * Renames what was made into place. rename(2) does not replace a directory by anything but a directory, nor one that is not
 * empty: then the two change places, and what was there goes with the work directory.
 */
async function publish(made: string, parent: HeldDirectory, name: string, work: Work): Promise<void> {
  const { held } = work
  const { calls } = held
  try {
    await calls.rename(held.at(made), parent.at(name))
  } catch (error) {
    if (!['EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error
    await calls.rename(held.at(made), parent.at(name), RENAME_EXCHANGE)
  }
}

/** Makes `tree` say that the step has been carried out. */
function believe(tree: TargetTree, step: Step): void {
  const path = step.path.split('/')
  const name = path.pop() ?? ''
  let directory = tree
  for (const part of path) {
    const next = directory.entries.get(part)
    if (next?.kind !== 'directory') throw new Error(`no directory in the target's tree: ${step.path}`)
    directory = next
  }
  if (step.do === 'remove') {
    directory.entries.delete(name)
  } else if (step.do === 'attributes' && step.node.kind === 'directory') {
    // Only owner and mode are new; which of the planned entries are there is said by their own steps.
    const had = directory.entries.get(name)
    if (had?.kind === 'directory') directory.entries.set(name, { ...had, key: step.node.key })
  } else {
    directory.entries.set(name, step.node)
  }
}
