import { constants } from 'node:fs'
import type { InotifyError } from '../../errors.ts'
import { leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { AT_FDCWD, O_PATH, type SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { failure } from '../../publish/failure.ts'
import { onTarget } from '../copy/safe_copy.ts'
import { nodeAt, replaceEntries, type TargetNode, type TargetTree, withOld } from '../plan/tree.ts'
import { Displaced, orAbsent, orDisplaced } from '../source/errors.ts'
import { Staging } from '../staging/staging.ts'
import { type Inode, isSame, isTrustedWay } from './lineage.ts'
import {
  isRemoved,
  letGo,
  type OpenedTarget,
  openAt,
  removeIfEmpty,
  type TargetPlace,
} from './opened_target.ts'

const { O_DIRECTORY } = constants

/** The target of a mirror: the directory at a path, the mirror's entries in it, and the place where they are made ready. */
export class Target {
  readonly #calls: SyscallThread
  readonly #place: TargetPlace
  #opened: OpenedTarget
  /** The directories that were mirrored to before. */
  readonly #former = new Set<OpenedTarget>()

  private constructor(calls: SyscallThread, place: TargetPlace, opened: OpenedTarget) {
    this.#calls = calls
    this.#place = place
    this.#opened = opened
  }

  static async open(calls: SyscallThread, place: TargetPlace): Promise<Target> {
    return new Target(calls, place, await openAt(calls, place))
  }

  /** Its name for people. */
  get shown(): string {
    return this.#place.directory
  }

  get held(): DirectoryHandle {
    return this.#opened.held
  }

  /** The directory that is mirrored to at present. */
  get opened(): OpenedTarget {
    return this.#opened
  }

  /** The first level of the mirror's entries, with the identities of their inodes. */
  get made(): Map<string, string[]> {
    const entries = [...this.#opened.tree.entries]
    return new Map(entries.map(([name, { placed }]) => [name, placed === undefined ? [] : [placed.identity]]))
  }

  /** A pass begins that makes things ready here; to be ended with what this returns. */
  begin(): OpenedTarget {
    this.#opened.passes++
    return this.#opened
  }

  /** Ends a pass. A former directory is let go of when no pass uses it any more: its descriptors must not be given to another file before. */
  async end(opened: OpenedTarget): Promise<void> {
    opened.passes--
    for (const each of this.#former) {
      if (each.passes > 0) continue
      this.#former.delete(each)
      await letGo(each.held, each.staging)
    }
  }

  /**
   * Checks that the path still leads to the held directory. If not, that one keeps its entries, and the one at the path, made if missing,
   * is mirrored to from now on. Returns the error that says so. Throws EPERM if somebody else may have put it there, and it is neither
   * empty nor was a mirror's: root's mirror would write wherever that user leads it.
   */
  async locate(): Promise<InotifyError | undefined> {
    const { held } = this.#opened
    const there = await this.#calls.open(this.shown, O_PATH | O_DIRECTORY).catch(orAbsent)
    if (there !== undefined) this.#calls.close(there.fd)
    const isHeld = there?.stat.dev === held.opened.dev && there.stat.ino === held.opened.ino
    // True also over another mount of it: writes to the held directory appear in both.
    if (isHeld) {
      try {
        return await this.#restage()
      } catch (error) {
        // Removed between the two looks.
        if (!(await isRemoved(held))) throw error
      }
    }
    this.#turnTo(await openAt(this.#calls, this.#place, await this.#wayFrom()))
    return this.#stale(
      'the directory was removed, renamed or replaced while it was mirrored to: what is at the path now is mirrored to from here on, and programs that hold the old one must open the path again',
    )
  }

  /** Takes from what is believed all that somebody has removed, replaced or changed, so that it is put there again. Returns true if there was any. */
  async verify(): Promise<boolean> {
    const { held, tree } = this.#opened
    const entries = await onTarget(this.shown, untouched(held, tree))
    if (entries === tree.entries) return false
    replaceEntries(tree, entries)
    return true
  }

  /** Believes no more that the mirror's entry is at a path. */
  drop(path: string): void {
    const { tree } = this.#opened
    // Copies on the way: what is below its first level the tree may share with what a source gave.
    replaceEntries(tree, withOld(tree, { ...tree, entries: new Map() }, [path]).entries)
  }

  /**
   * Opens the directory that a path is in. Throws {@link Displaced} if one on the way is not the one that was put there: what is done in it
   * would be done to somebody else's.
   */
  async parentOf(path: string): Promise<DirectoryHandle> {
    const { held, tree } = this.#opened
    const parts = path.split('/').slice(0, -1)
    let here = await held.descend('')
    for (const [index, name] of parts.entries()) {
      const at = parts.slice(0, index + 1).join('/')
      const above = here
      try {
        here = await onTarget(`${this.shown}/${at}`, above.directory(name).catch(orDisplaced(at)))
      } finally {
        await above.close()
      }
      if (nodeAt(tree, at)?.placed?.isSame(here.opened)) continue
      await here.close()
      throw new Displaced(at)
    }
    return here
  }

  /** Removes the directory if the mirror, or one before it, made it, it is still at its path, and there is nothing else in it. */
  async removeIfOwn(): Promise<void> {
    if (!this.#opened.staging.createdTarget) return
    const there = await this.#calls.stat({ fd: AT_FDCWD, name: this.shown }).catch(() => undefined)
    if (isSame(there, this.held.opened)) await removeIfEmpty(this.#calls, this.shown)
  }

  /** Closes all that is open but the present staging directory, which is removed or left before. */
  async close(): Promise<void> {
    for (const { held, staging } of this.#former) await letGo(held, staging)
    await this.held.close()
    // The thread keeps the order: when this is answered all is closed, and the target can be unmounted.
    await this.#calls.stat({ fd: AT_FDCWD, name: '/' }).catch(() => {})
  }

  /** Makes another staging directory where somebody has removed the one that there was, as whoever clears the target does. */
  async #restage(): Promise<InotifyError | undefined> {
    const { held, staging } = this.#opened
    if (await onTarget(this.shown, staging.isThere())) return undefined
    const { only } = this.#place
    const again = await onTarget(this.shown, held.descend(''))
    try {
      const options = { shown: this.shown, createdTarget: staging.createdTarget, only }
      this.#turnTo({ ...this.#opened, held: again, staging: await Staging.open(again, options), passes: 0 })
    } catch (error) {
      await again.close()
      throw error
    }
    return this.#stale(
      "the mirror's own directory in it was removed: there is another now, and what is missing is put there again",
    )
  }

  #turnTo(opened: OpenedTarget): void {
    this.#former.add(this.#opened)
    this.#opened = opened
  }

  #stale(hint: string): InotifyError {
    return failure('ESTALE', 'mirror', this.shown, hint)
  }

  /** Returns the directory to which the path must lead; undefined if only root and this user decide that. */
  async #wayFrom(): Promise<Inode | undefined> {
    const isTrusted = await isTrustedWay(this.#calls, this.shown).catch(() => false)
    return isTrusted ? undefined : this.#opened.above
  }
}

/**
 * Returns the entries of a directory of the target that are as they were put there: the given ones themselves if all are, else others,
 * without those that somebody has removed, replaced or written to.
 */
async function untouched(held: DirectoryHandle, { entries }: TargetTree): Promise<Map<string, TargetNode>> {
  const kept = new Map(entries)
  let isWhole = true
  await leavesAtOnce(entries, async (name, node) => {
    const now = await untouchedNode(held, name, node)
    isWhole &&= now === node
    if (now === undefined) kept.delete(name)
    else kept.set(name, now)
  })
  return isWhole ? entries : kept
}

async function untouchedNode(
  held: DirectoryHandle,
  name: string,
  node: TargetNode,
): Promise<TargetNode | undefined> {
  if (node.kind !== 'directory') {
    const stat = await held.lstat(name).catch(orAbsent)
    return stat && node.placed?.verify(stat) ? node : undefined
  }
  await using child = await held.directory(name).catch(orAbsent)
  if (child === undefined || node.placed?.isSame(child.opened) !== true) return undefined
  const entries = await untouched(child, node)
  // The wrong mode or owner is mended in place.
  const key = node.placed.verify(child.opened) ? node.key : child.opened
  return entries === node.entries && key === node.key ? node : { ...node, key, entries }
}
