import { setTimeout as sleep } from 'node:timers/promises'
import { InotifyError } from '../../errors.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { removeTree } from '../../mounts/syscalls/remove_tree.ts'
import { type At, RENAME_EXCHANGE, type SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { DATA_NEXT, PARTING } from '../../volume/layout.ts'
import { copyAttributes, onTarget } from '../copy/safe_copy.ts'
import type { Built, StagingArea } from '../copy/staging_area.ts'
import type { Step } from '../plan/plan.ts'
import { nodeAt, type TargetTree } from '../plan/tree.ts'
import { codeOf, Displaced, orDisplaced } from '../source/errors.ts'
import { stagingName } from '../staging/own.ts'
import { isData, type Ready } from './build.ts'
import { Placed } from './inventory.ts'
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
      mayBeRead = (await carryOut(step, ready, target, work)) || mayBeRead
      believe(target.opened.tree, step)
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

/** Returns true if a reader may be on the way to an entry to which nothing leads any more. */
async function carryOut(
  step: Step,
  ready: Ready,
  target: Target,
  work: StagingArea | undefined,
): Promise<boolean> {
  if (step.do === 'remember') return false
  const { path } = step
  const { tree, placed } = target.opened
  const known = placed.at(path)
  const shown = `${target.shown}/${path}`
  const name = path.slice(path.lastIndexOf('/') + 1)
  const built = ready.get(step)
  if (built instanceof Error) throw built
  await using parent = await target.parentOf(path)
  if (step.do === 'remove') {
    await onTarget(
      shown,
      removeTree(parent, name, (stat) => known?.isSame(stat) === true),
    )
    placed.set(path, undefined)
  } else if (step.do === 'attributes') {
    // By a descriptor: chmod(2) follows symlinks, and what took the entry's place is somebody else's. So is a file that has another
    // name as well.
    await using entry = await onTarget(shown, parent.hold(name).catch(orDisplaced(path)))
    const { opened } = entry
    if (!known?.isSame(opened) || (opened.isFile() && opened.nlink !== 1n)) throw new Displaced(path)
    await copyAttributes(entry, shown, step.node.key)
    known.note(await onTarget(shown, entry.stat()))
  } else if (work === undefined) {
    throw new Error(`planned without a place to make it: ${path}`)
  } else if (isData(step) && step.node.kind === 'link') {
    const isDraftContent = tree.entries.has(DATA_NEXT)
    const made = await onTarget(shown, swapData(parent, step.node.to, work, isDraftContent))
    placed.set(path, new Placed(made))
    return true
  } else {
    if (built === undefined) throw new Error(`planned without being built: ${path}`)
    const wasLink = nodeAt(tree, path)?.kind === 'link'
    const exchanged = await onTarget(shown, publish(built, parent, name, work))
    placed.set(path, built.placed)
    return exchanged || wasLink || step.node.kind === 'link'
  }
  return false
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
  try {
    await calls.symlink(to, above.at(draft))
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    // Left from a mirror that was killed between these lines.
    await putAway(above, draft, work)
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
    // Somebody's directory: as anything else in the way it goes.
    await exchange(calls, above.at(draft), parent.at('..data'), work.held.at(work.next()))
    await putAway(above, draft, work)
  }
  return made
}

/** Moves an entry in the way into the work directory, with which it goes. */
async function putAway(parent: DirectoryHandle, name: string, work: StagingArea): Promise<void> {
  await parent.calls.rename(parent.at(name), work.held.at(work.next()))
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
  try {
    await calls.rename(held.at(made), parent.at(name))
    return false
  } catch (error) {
    if (!['EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error
  }
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
  try {
    return await calls.rename(from, to, RENAME_EXCHANGE)
  } catch (error) {
    if (!['EINVAL', 'ENOSYS', 'ENOTSUP'].includes(codeOf(error))) throw error
  }
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

/** Makes `tree` say that the step has been carried out. */
function believe(tree: TargetTree, step: Step): void {
  const path = step.path.split('/')
  const name = path.pop() ?? ''
  let directory = tree
  for (const part of path) {
    const next = directory.entries.get(part)
    // Dropped by a step before, as somebody has displaced it.
    if (next?.kind !== 'directory') throw new Displaced(path.join('/'))
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
