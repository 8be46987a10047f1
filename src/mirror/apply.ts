import { constants } from 'node:fs'
import { mkdir, open, rename, symlink, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { InotifyError } from '../errors.ts'
import { type HeldDirectory, O_PATH } from '../mounts/held.ts'
import { codeOf } from './interrupted.ts'
import type { Step } from './plan.ts'
import { copyAttributes, onTarget, type Place } from './safe_copy.ts'
import { removeTree, type Staging, type Work } from './staging.ts'
import type { StatKey, TargetNode, TargetTree } from './tree.ts'

const { O_NOFOLLOW } = constants

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
export async function apply(steps: readonly Step[], target: Target, staging: Staging): Promise<Applied> {
  const failures: InotifyError[] = []
  let visible = false
  for (const step of steps) {
    try {
      await carryOut(step, target, staging)
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

async function carryOut(step: Step, target: Target, staging: Staging): Promise<void> {
  if (step.do === 'remember') return
  const shown = `${target.shown}/${step.path}`
  const directory = dirname(step.path)
  await using parent = await onTarget('open', shown, target.held.descend(directory === '.' ? '' : directory))
  const name = step.path.slice(step.path.lastIndexOf('/') + 1)
  if (step.do === 'remove') return await onTarget('unlink', shown, removeTree(parent, name))
  if (step.do === 'attributes') return await setAttributes({ path: parent.entry(name), shown }, step.node.key)
  if (step.path === '..data' && step.node.kind === 'link') {
    return await onTarget('rename', shown, swapData(parent, step.node.to))
  }
  const work = await staging.work()
  const made = await build(step.node, work, shown)
  await onTarget('rename', shown, publish(made, parent.entry(name), work))
}

/** As the AtomicWriter does it: consumers and their filters know `..data_tmp`. */
async function swapData(parent: HeldDirectory, to: string): Promise<void> {
  // One may be left from a mirror that was killed between these lines.
  await removeTree(parent, '..data_tmp')
  await symlink(to, parent.entry('..data_tmp'))
  try {
    await rename(parent.entry('..data_tmp'), parent.entry('..data'))
  } catch (error) {
    await unlink(parent.entry('..data_tmp'))
    throw error
  }
}

/** Makes a node in the work directory and returns its path there. Files have been copied before. */
async function build(node: TargetNode, work: Work, shown: string): Promise<string> {
  if (node.kind === 'file') {
    const staged = work.files.get(node)
    if (staged === undefined) throw new Error(`planned without content: ${shown}`)
    return staged
  }
  const path = work.next()
  if (node.kind === 'link') {
    await onTarget('symlink', shown, symlink(node.to, path))
    return path
  }
  await onTarget('mkdir', shown, mkdir(path, 0o700))
  for (const [name, child] of node.entries) {
    const made = await build(child, work, `${shown}/${name}`)
    await onTarget('rename', shown, rename(made, `${path}/${name}`))
  }
  await setAttributes({ path, shown }, node.key)
  return path
}

/**
 * Renames what was made into place. rename(2) does not replace a directory by anything but a directory, nor one that is not
 * empty: then what is there steps aside first. Node has no RENAME_EXCHANGE, so only in this case, an entry becoming or
 * having been a directory, the name is free for an instant.
 */
async function publish(made: string, path: string, work: Work): Promise<void> {
  try {
    await rename(made, path)
  } catch (error) {
    if (!['EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error
    const aside = work.next()
    await rename(path, aside)
    await rename(made, path).catch(async (cause: unknown) => {
      await rename(aside, path)
      throw cause
    })
  }
}

async function setAttributes({ path, shown }: Place, key: StatKey): Promise<void> {
  // chmod(2) follows symlinks; one that took the entry's place must not be followed. O_PATH also needs no right to read.
  const handle = await onTarget('open', shown, open(path, O_PATH | O_NOFOLLOW))
  try {
    await copyAttributes({ path: `/proc/self/fd/${handle.fd}`, shown }, key)
  } finally {
    await handle.close()
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
