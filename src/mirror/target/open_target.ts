import { basename, dirname } from 'node:path'
import { InotifyError, printable } from '../../errors.ts'
import { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { AT_FDCWD, AT_REMOVEDIR, type SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { warn } from '../../warning.ts'
import { copyAttributes, onTarget } from '../copy/safe_copy.ts'
import { codeOf } from '../source/errors.ts'
import { openLeftover, stagingsIn } from '../staging/leftover_staging.ts'
import { requireNew } from '../staging/own.ts'
import { type Inode, isSame, isWithin, type Lineage, lineageOf } from './lineage.ts'
import { isTrustedWay } from './trusted_way.ts'

const TMPFS_MAGIC = 0x01021994
const RAMFS_MAGIC = 0x858458f6

/** Another mirror that had made the target's directory, and gave up because of this one, has removed it. */
export class TargetGone extends Error {
  override readonly name = 'TargetGone'
}

/** A source's directory as it was when the mirror started: asked of it later, a server that has stopped would hold up the target. */
export interface SourceDirectory {
  readonly stat: FileStat
  readonly lineage: Lineage
  /** True: the source is a file in it, and may lie in the target's directory as well. */
  readonly isFile: boolean
}

/**
 * Opens the target, makes it (`created`) if it is missing, and refuses one that is in a source or around it.
 *
 * @param above where the way to the target can be changed by others: the directory that it must be in. No symlink leads to it then,
 *   and it must be empty, or a mirror's of this user before
 */
export async function openTarget(
  calls: SyscallThread,
  path: string,
  sources: readonly SourceDirectory[],
  above?: Inode,
): Promise<{ readonly held: DirectoryHandle; readonly created: boolean }> {
  const apart = sources.filter(({ isFile }) => !isFile)
  const existing = above === undefined ? await onTarget(path, openExisting(calls, path)) : undefined
  if (existing !== undefined) {
    try {
      await refuseOverlaps(apart, existing, path)
    } catch (error) {
      await existing.close()
      throw error
    }
    return { held: existing, created: false }
  }
  // Before anything is made, so that a refusal leaves nothing behind in the source.
  await using parent = await onTarget(path, openAbove(calls, path))
  if (above !== undefined && !isSame(parent.opened, above)) throw untrusted(path)
  const inside = await onTarget(path, lineageOf(parent))
  for (const source of apart)
    if (isWithin(inside, source.lineage)) throw overlap(path, 'it would be inside the source')
  const created = await onTarget(path, makeDirectory(parent, basename(path)))
  let held: DirectoryHandle | undefined
  try {
    held = await onTarget(path, openBelow(parent, path, above))
    if (!created) await refuseOverlaps(apart, held, path)
    if (!created && above !== undefined && !(await isEmptyOrOurs(held, path))) throw untrusted(path)
    if (created) {
      const mayBeUsed = () => isTrustedWay(calls, path).catch(() => false)
      await onTarget(path, requireNew(parent, held, path, mayBeUsed))
      await giveAttributes(held, path, sources)
    }
    return { held, created }
  } catch (error) {
    await held?.close()
    if (created) await removeIfEmpty(calls, path).catch(() => {})
    throw error instanceof InotifyError && error.code === 'ENOENT' ? new TargetGone(error.message) : error
  }
}

async function openAbove(calls: SyscallThread, path: string): Promise<DirectoryHandle> {
  try {
    return await DirectoryHandle.open(calls, dirname(path))
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    const hint = `make ${printable(dirname(path))} first`
    throw new InotifyError({ errno: 'ENOENT', syscall: 'open', path, hint })
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
  return new InotifyError({
    errno: 'EPERM',
    syscall: 'mirror',
    path,
    hint: 'the directory was removed, renamed or replaced, and as others may write the way to it, what is there now is not written to: put it back, or an empty directory, or start the mirror again',
  })
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
export async function warnUnlessInMemory(target: DirectoryHandle, path: string): Promise<void> {
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
  try {
    await calls.unlink({ fd: AT_FDCWD, name: directory }, AT_REMOVEDIR)
  } catch (error) {
    // Somebody else's file in it, a mount on it, or gone already; or something else has the name.
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EBUSY'].includes(codeOf(error))) throw error
  }
}

/** false if another has made it since it was found missing, as a second mirror might. */
async function makeDirectory(parent: DirectoryHandle, name: string): Promise<boolean> {
  try {
    await parent.calls.mkdir(parent.at(name), 0o700)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function openExisting(calls: SyscallThread, path: string): Promise<DirectoryHandle | undefined> {
  try {
    return await DirectoryHandle.open(calls, path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
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
  return new InotifyError({
    errno: 'EINVAL',
    syscall: 'mirror',
    path,
    hint: `${what}: the target must be a directory apart from it, best on a tmpfs`,
  })
}
