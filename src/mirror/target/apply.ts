import { setTimeout as sleep } from 'node:timers/promises'
import { InotifyError } from '../../errors.ts'
import { succeeds } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { removeTree } from '../../mounts/syscalls/remove_tree.ts'
import { type At, RENAME_EXCHANGE, type SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { DATA_NEXT, PARTING } from '../../volume/layout.ts'
import { copyAttributes, onTarget } from '../copy/safe_copy.ts'
import type { StagingArea } from '../copy/staging_area.ts'
import type { Step } from '../plan/plan.ts'
import { nodeAt, Placed, type TargetNode, type TargetTree } from '../plan/tree.ts'
import { codeOf, Displaced, orDisplaced } from '../source/errors.ts'
import { stagingName } from '../staging/own.ts'
import { type Built, isData, type Ready } from './build.ts'
import type { Target } from './target.ts'

/** The outcome of a plan. */
export interface Applied {
  /** True: something that a reader or a watcher could notice has changed. */
  readonly isVisible: boolean
  /** True: somebody else has changed the target meanwhile, and the missing entries are to be made again. */
  readonly isDisplaced: boolean
  readonly failures: readonly InotifyError[]
}

/**
 * Carries out the steps of a plan in their order. The target's tree follows each step that has succeeded and no other, so what
 * failed is planned again the next time.
 *
 * @param without those of the steps left that are safe without what has failed
 */
export async function apply(
  steps: readonly Step[],
  ready: Ready,
  target: Target,
  work: StagingArea | undefined,
  without: (failed: Iterable<string>, steps: readonly Step[]) => readonly Step[] = (_, steps) => steps,
): Promise<Applied> {
  const failures: InotifyError[] = []
  let isVisible = false
  let isDisplaced = false
  let mayBeRead = false
  const part = async () => {
    if (mayBeRead) await sleep(PARTING)
    mayBeRead = false
  }
  const failed = new Set<string>()
  let judged = 0
  let isSafe = (_: Step) => true
  for (const [index, step] of steps.entries()) {
    if (failed.size > judged && !isFirst(step)) {
      const safe = new Set(without(failed, steps.slice(index)))
      isSafe = (each) => safe.has(each)
      judged = failed.size
    }
    if (!isSafe(step)) continue
    try {
      if (step.do === 'remove') await part()
      const { node, isLeft } = await carryOut(step, ready, target, work)
      mayBeRead ||= isLeft
      believe(target.opened.tree, step.path, node)
    } catch (error) {
      if (error instanceof Displaced) {
        isDisplaced = true
        target.drop(error.path)
      } else if (error instanceof InotifyError) failures.push(error)
      else throw error
      // The draft of ..data was taken away: readers still come by the old link, and what that leads to must stay.
      if (error instanceof Displaced && isData(step)) break
      if (step.do === 'place') failed.add(step.path)
      continue
    }
    isVisible ||= step.do !== 'remember'
  }
  // Entries that changed places with others go with the work directory.
  await part()
  return { isVisible, isDisplaced, failures }
}

/** Returns true if a step leads no reader elsewhere and removes nothing. */
function isFirst(step: Step): boolean {
  return step.do !== 'remove' && (step.do !== 'place' || step.node.kind === 'file')
}

/** Carries out a step. Returns the node that the target has from then on, and `isLeft`: a reader may be on the way to an entry to which nothing leads any more. */
async function carryOut(
  step: Step,
  ready: Ready,
  target: Target,
  work: StagingArea | undefined,
): Promise<{ node: TargetNode | undefined; isLeft: boolean }> {
  const { path } = step
  const { tree } = target.opened
  const had = nodeAt(tree, path)
  const placed = had?.placed
  // The same file, by which the source's next pass knows it.
  if (step.do === 'remember') return { node: Object.assign(step.node, { placed }), isLeft: false }
  const shown = `${target.shown}/${path}`
  const name = path.slice(path.lastIndexOf('/') + 1)
  const built = ready.get(step)
  if (built instanceof Error) throw built
  await using parent = await target.parentOf(path)
  if (step.do === 'remove') {
    const removing = removeTree(parent, name, (stat) => placed?.isSame(stat) === true)
    await onTarget(shown, removing)
    return { node: undefined, isLeft: false }
  }
  if (step.do === 'attributes') {
    // By a descriptor: chmod(2) follows symlinks, and what took the entry's place is somebody else's. So is a file that has another
    // name as well.
    await using entry = await onTarget(shown, parent.hold(name).catch(orDisplaced(path)))
    const { opened } = entry
    if (!placed?.isSame(opened) || (opened.isFile() && opened.nlink !== 1n)) throw new Displaced(path)
    await copyAttributes(entry, shown, step.node.key)
    const now = { placed: new Placed(await onTarget(shown, entry.stat())) }
    // A directory has a new owner and mode alone: steps of their own say which of the planned entries are there.
    if (step.node.kind === 'file') return { node: Object.assign(step.node, now), isLeft: false }
    return { node: had?.kind === 'directory' ? { ...had, key: step.node.key, ...now } : had, isLeft: false }
  }
  if (work === undefined) throw new Error(`planned without a place to make it: ${path}`)
  if (isData(step) && step.node.kind === 'link') {
    const isDraftContent = tree.entries.has(DATA_NEXT)
    const made = await onTarget(shown, swapData(parent, step.node.to, work, isDraftContent))
    return { node: { ...step.node, placed: new Placed(made) }, isLeft: true }
  }
  if (built === undefined) throw new Error(`planned without being built: ${path}`)
  const exchanged = await onTarget(shown, publish(built, parent, name, work))
  return { node: built.node, isLeft: exchanged || had?.kind === 'link' || step.node.kind === 'link' }
}

async function swapData(
  parent: DirectoryHandle,
  to: string,
  work: StagingArea,
  isDraftContent: boolean,
): Promise<FileStat> {
  const { calls } = parent
  // A source may have an entry of the draft's name, which stays while `..data` is swapped.
  const [above, draft] = isDraftContent ? [work.held, work.next()] : [parent, DATA_NEXT]
  const putAway = () => calls.rename(above.at(draft), work.held.at(work.next()))
  if (!(await succeeds(calls.symlink(to, above.at(draft)), 'EEXIST'))) {
    // Left from a mirror that was killed between these lines.
    await putAway()
    await calls.symlink(to, above.at(draft))
  }
  const made = await above.lstat(draft).catch(orDisplaced('..data'))
  // A user who may write the target can have put another there.
  if (made.link !== to) throw new Displaced('..data')
  try {
    await calls.rename(above.at(draft), parent.at('..data'))
  } catch (error) {
    if (codeOf(error) !== 'EISDIR') {
      await calls.unlink(above.at(draft))
      throw error
    }
    // Somebody's directory: as anything else in the way it goes, with the work directory.
    await exchange(calls, above.at(draft), parent.at('..data'), work.held.at(work.next()))
    await putAway()
  }
  return made
}

/**
 * Renames what was made into place. rename(2) does not replace a directory by anything but a directory, nor one that is not
 * empty: then the two change places, and what was there goes with the work directory.
 */
async function publish(
  { name: made }: Built,
  parent: DirectoryHandle,
  name: string,
  work: StagingArea,
): Promise<boolean> {
  const { held } = work
  const { calls } = held
  const renaming = calls.rename(held.at(made), parent.at(name))
  if (await succeeds(renaming, 'EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST')) return false
  try {
    await exchange(calls, held.at(made), parent.at(name), held.at(work.next()))
  } catch (error) {
    if (codeOf(error) !== 'EACCES') throw error
    await exchangeBeside(made, parent, name, held)
  }
  return true
}

/**
 * Has two entries change places. The server of a network file system or FUSE may not know how: then `to` is not there for a moment, in which it
 * is `aside`.
 */
async function exchange(calls: SyscallThread, from: At, to: At, aside: At): Promise<void> {
  const exchanging = calls.rename(from, to, RENAME_EXCHANGE)
  if (await succeeds(exchanging, 'EINVAL', 'ENOSYS', 'ENOTSUP')) return
  await calls.rename(to, aside)
  try {
    await calls.rename(from, to)
  } catch (error) {
    await calls.rename(aside, to)
    throw error
  }
  await calls.rename(aside, from)
}

/**
 * The same within one directory. Another user's directory, as a mirror that ran as root leaves it, may be renamed there by whoever may
 * write that; to move it elsewhere its `..` would be written to: rename(2), EACCES. What cannot be removed of it stays.
 */
async function exchangeBeside(
  made: string,
  parent: DirectoryHandle,
  name: string,
  held: DirectoryHandle,
): Promise<void> {
  const [beside, aside] = [stagingName(), stagingName()]
  const { calls } = parent
  await calls.rename(held.at(made), parent.at(beside))
  try {
    await exchange(calls, parent.at(beside), parent.at(name), parent.at(aside))
  } finally {
    await removeTree(parent, beside).catch(() => {})
  }
}

/** Makes `tree` say what is at a path from now on. */
function believe(tree: TargetTree, path: string, node: TargetNode | undefined): void {
  const end = path.lastIndexOf('/')
  const directory = end === -1 ? tree : nodeAt(tree, path.slice(0, end))
  // Dropped by a step before, as somebody has displaced it.
  if (directory?.kind !== 'directory') throw new Displaced(path.slice(0, end))
  const name = path.slice(end + 1)
  if (node === undefined) directory.entries.delete(name)
  else directory.entries.set(name, node)
}
