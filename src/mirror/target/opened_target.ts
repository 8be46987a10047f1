import { basename, dirname } from 'node:path'
import { type InotifyError, printable } from '../../errors.ts'
import { codeOf, except, succeeds } from '../../mounts/syscalls/call_error.ts'
import { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { AT_FDCWD, AT_REMOVEDIR, type SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { failure } from '../../publish/failure.ts'
import { warn } from '../../warning.ts'
import { copyAttributes, onTarget } from '../copy/safe_copy.ts'
import type { TargetTree } from '../plan/tree.ts'
import { openLeftover, stagingsIn } from '../staging/leftover_staging.ts'
import { requireNew } from '../staging/own.ts'
import { hasLinks, Staging } from '../staging/staging.ts'
import { readBack } from '../staging/takeover.ts'
import { type Inode, isSame, isTrustedWay, isWithin, type Lineage, lineageOf } from './lineage.ts'

const TMPFS_MAGIC = 0x01021994
const RAMFS_MAGIC = 0x858458f6

/** The most times that a target is made anew after another mirror has made and removed it. */
const ATTEMPTS = 3

/** A source's directory as it was when the mirror started: asked of it later, a server that has stopped would hold up the target. */
export interface SourceDirectory {
  readonly stat: FileStat
  readonly lineage: Lineage
  /** True: the source is a file in it, and may lie in the target's directory as well. */
  readonly isFile: boolean
}

/** The parameters of opening a target. */
export interface TargetPlace {
  /** The path of the directory. */
  readonly directory: string
  /** The one entry in it that is mirrored to; '' if it is all of it. */
  readonly only: string
  readonly sources: readonly SourceDirectory[]
  /** Bytes that a file may have, at most, to be read for what it holds. */
  readonly bytes: number
}

/** A directory that is mirrored to, open. */
export interface OpenedTarget {
  readonly held: DirectoryHandle
  /** True: nothing was in it but notes of earlier mirrors. */
  readonly wasEmpty: boolean
  /** The directory that its path was in. */
  readonly above: Inode
  readonly staging: Staging
  /** The mirror's entries. */
  readonly tree: TargetTree
  /** The number of passes under way that make things ready here. */
  passes: number
}

/**
 * Opens the directory, made if it is missing, and takes over what mirrors before have left in it. Refuses one that is in a source or around it.
 *
 * @param from where the way to the target can be changed by others: the directory that it must be in. No symlink leads to it then,
 *   and it must be empty, or a mirror's of this user before
 */
export async function openAt(calls: SyscallThread, place: TargetPlace, from?: Inode): Promise<OpenedTarget> {
  for (let left = ATTEMPTS; ; left--) {
    const opened = await openOnce(calls, place, from)
    if (opened !== undefined) return opened
    const hint = 'it is removed as often as it is made: something else cleans up there'
    if (left === 0) throw failure('ENOENT', 'mirror', place.directory, hint)
  }
}

/** Returns undefined if it has gone meanwhile: another mirror that had made it, and gave up because of this one, has removed it. */
async function openOnce(
  calls: SyscallThread,
  { directory, only, sources, bytes }: TargetPlace,
  from: Inode | undefined,
): Promise<OpenedTarget | undefined> {
  const apart = sources.filter(({ isFile }) => !isFile)
  await using parent = await onTarget(directory, openAbove(calls, directory))
  const existing = from ? undefined : DirectoryHandle.open(calls, directory).catch(except('ENOENT'))
  let held = existing && (await onTarget(directory, existing))
  let [created, isMade] = [false, false]
  let staging: Staging | undefined
  try {
    if (held === undefined) {
      // Before anything is made, so that a refusal leaves nothing behind in the source.
      if (from !== undefined && !isSame(parent.opened, from)) throw untrusted(directory)
      const inside = await onTarget(directory, lineageOf(parent))
      if (apart.some(({ lineage }) => isWithin(inside, lineage)))
        throw overlap(directory, 'it would be inside the source')
      const making = parent.calls.mkdir(parent.at(basename(directory)), 0o700)
      // A second mirror might have made it since it was found missing.
      created = await onTarget(directory, succeeds(making, 'EEXIST'))
      isMade = true
      held = await onTarget(directory, openBelow(parent, directory, from))
    }
    if (created) {
      const mayBeUsed = () => isTrustedWay(calls, directory).catch(() => false)
      await onTarget(directory, requireNew(parent, held, directory, mayBeUsed))
      await giveAttributes(held, directory, sources)
    } else {
      await refuseOverlaps(apart, held, directory)
      if (from !== undefined && !(await isEmptyOrOurs(held, directory))) throw untrusted(directory)
    }
    await warnUnlessInMemory(held, directory)
    const options = { shown: directory, createdTarget: created, only }
    staging = await onTarget(directory, Staging.open(held, options))
    const tree = await onTarget(directory, readBack(held, staging.made, only, bytes))
    // One name is the staging directory's.
    const wasEmpty = tree.entries.size === 0 && (await onTarget(directory, held.names(2))).length === 1
    return { held, wasEmpty, above: parent.opened, staging, tree, passes: 0 }
  } catch (error) {
    const isGone = held === undefined ? isMade && codeOf(error) === 'ENOENT' : await isRemoved(held)
    if (held !== undefined) await letGo(held, staging)
    if (isGone) return undefined
    if (created) await removeIfEmpty(calls, directory).catch(() => {})
    throw error
  }
}

/** Returns true if a directory is at no path any more; false if nobody can tell. */
export async function isRemoved(held: DirectoryHandle): Promise<boolean> {
  return !(await hasLinks(held).catch(() => true))
}

/** Closes what was mirrored to, and leaves the notes for the next mirror. */
export async function letGo(held: DirectoryHandle, staging: Staging | undefined): Promise<void> {
  const leaving = staging && (staging.made.size > 0 ? staging.leave() : staging.remove())
  // If it has been removed, nothing can be left.
  await leaving?.catch(() => {})
  await held.close()
}

async function openAbove(calls: SyscallThread, path: string): Promise<DirectoryHandle> {
  try {
    return await DirectoryHandle.open(calls, dirname(path))
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    throw failure('ENOENT', 'open', path, `make ${printable(dirname(path))} first`)
  }
}

async function openBelow(
  parent: DirectoryHandle,
  path: string,
  above: Inode | undefined,
): Promise<DirectoryHandle> {
  try {
    return await parent.directory(basename(path))
  } catch (error) {
    throw above !== undefined && ['ELOOP', 'ENOTDIR'].includes(codeOf(error)) ? untrusted(path) : error
  }
}

async function isEmptyOrOurs(held: DirectoryHandle, path: string): Promise<boolean> {
  if ((await onTarget(path, held.names(1))).length === 0) return true
  for (const name of await onTarget(path, stagingsIn(held))) {
    await using leftover = await onTarget(path, openLeftover(held, name, '', path))
    if (leftover !== undefined) return true
  }
  return false
}

function untrusted(path: string): InotifyError {
  const hint =
    'the directory was removed, renamed or replaced, and as others may write the way to it, what is there now is not written to: put it back, or an empty directory, or start the mirror again'
  return failure('EPERM', 'mirror', path, hint)
}

/**
 * The owner that the sources have, if it is one, and no more rights than each of them gives; nor those to write, which only the mirror
 * needs.
 */
async function giveAttributes(
  held: DirectoryHandle,
  path: string,
  sources: readonly SourceDirectory[],
): Promise<void> {
  const [first, ...others] = sources.map(({ stat }) => stat)
  if (first === undefined) return
  const isCommon = others.every(({ uid, gid }) => uid === first.uid && gid === first.gid)
  const { uid, gid } = isCommon ? first : held.opened
  const mode = others.reduce((common, each) => common & each.mode, first.mode & 0o755n)
  await copyAttributes(held, path, { ...first, uid, gid, mode })
}

/** Says once that the target's content will be written to a disk, or across a network. */
async function warnUnlessInMemory(target: DirectoryHandle, path: string): Promise<void> {
  const type = await onTarget(path, target.calls.fileSystem(target.fd))
  if (type === TMPFS_MAGIC || type === RAMFS_MAGIC) return
  warn(
    'INOTIFY_BRIDGE_TARGET',
    `the target of a mirror is not on a tmpfs: ${path}`,
    'Secrets copied to it reach a disk. In Kubernetes use an emptyDir with medium: Memory.',
  )
}

/** Removes the target's directory, unless there is something in it that the mirror did not make. */
export async function removeIfEmpty(calls: SyscallThread, directory: string): Promise<void> {
  // Somebody else's file in it, a mount on it, or gone already; or something else has the name.
  const isLeft = except('ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EBUSY')
  await calls.unlink({ fd: AT_FDCWD, name: directory }, AT_REMOVEDIR).catch(isLeft)
}

async function refuseOverlaps(
  sources: readonly SourceDirectory[],
  held: DirectoryHandle,
  path: string,
): Promise<void> {
  const target = await onTarget(path, lineageOf(held))
  for (const { lineage } of sources) {
    if (isSame(lineage.inodes[0], target.inodes[0])) throw overlap(path, 'it is the source itself')
    if (isWithin(target, lineage)) throw overlap(path, 'it is inside the source')
    if (isWithin(lineage, target)) throw overlap(path, 'the source is inside it')
  }
}

function overlap(path: string, what: string): InotifyError {
  const hint = `${what}: the target must be a directory apart from it, best on a tmpfs`
  return failure('EINVAL', 'mirror', path, hint)
}
