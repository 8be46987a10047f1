import { basename, dirname } from 'node:path'
import { InotifyError } from '../errors.ts'
import { AT_FDCWD, AT_REMOVEDIR, type Calls } from '../mounts/calls.ts'
import { HeldDirectory } from '../mounts/held.ts'
import { codeOf } from './interrupted.ts'
import { onTarget } from './safe_copy.ts'

const TMPFS_MAGIC = 0x01021994
const RAMFS_MAGIC = 0x858458f6

/** The target's directory, open, and whether it had to be made. */
export interface OpenTarget {
  readonly held: HeldDirectory
  readonly created: boolean
}

/** Another mirror that had made the target's directory, and gave up because of this one, has removed it. */
export class TargetGone extends Error {
  override readonly name = 'TargetGone'
}

/** Opens the target, makes it if it is missing, and refuses one that is in a source or around it. */
export async function openTarget(
  calls: Calls,
  path: string,
  sources: readonly HeldDirectory[],
): Promise<OpenTarget> {
  const existing = await openExisting(calls, path)
  if (existing !== undefined) {
    try {
      for (const source of sources) await refuseOverlap(source, existing, path)
    } catch (error) {
      await existing.close()
      throw error
    }
    return { held: existing, created: false }
  }
  // Before anything is made, so that a refusal leaves nothing behind in the source.
  await using parent = await onTarget('open', path, HeldDirectory.open(calls, dirname(path)))
  for (const source of sources)
    if (await isWithin(parent, source)) throw overlap(path, 'it would be inside the source')
  const created = await onTarget('mkdir', path, makeDirectory(parent, basename(path)))
  try {
    return { held: await onTarget('open', path, parent.directory(basename(path))), created }
  } catch (error) {
    if (created) await removeIfEmpty(calls, path)
    throw error instanceof InotifyError && error.code === 'ENOENT' ? new TargetGone(error.message) : error
  }
}

/** Says once that the target's content will be written to a disk, or across a network. */
export async function warnUnlessInMemory(target: HeldDirectory, path: string): Promise<void> {
  const type = await target.calls.fileSystem(target.fd)
  if (type === TMPFS_MAGIC || type === RAMFS_MAGIC) return
  process.emitWarning(`the target of mirror() is not on a tmpfs: ${path}`, {
    type: 'InotifyBridgeWarning',
    code: 'INOTIFY_BRIDGE_TARGET',
    detail: 'Secrets copied to it reach a disk. In Kubernetes use an emptyDir with medium: Memory.',
  })
}

/** Removes the target's directory, unless there is something in it that the mirror did not make. */
export async function removeIfEmpty(calls: Calls, directory: string): Promise<void> {
  try {
    await calls.unlink({ fd: AT_FDCWD, name: directory }, AT_REMOVEDIR)
  } catch (error) {
    // Somebody else's file in it, a mount on it, or gone already.
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT', 'EBUSY'].includes(codeOf(error))) throw error
  }
}

/** false if another has made it since it was found missing, as a second mirror might. */
async function makeDirectory(parent: HeldDirectory, name: string): Promise<boolean> {
  try {
    await parent.calls.mkdir(parent.at(name), 0o755)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function openExisting(calls: Calls, path: string): Promise<HeldDirectory | undefined> {
  try {
    return await HeldDirectory.open(calls, path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    return await onTarget('open', path, Promise.reject(error))
  }
}

async function refuseOverlap(source: HeldDirectory, target: HeldDirectory, path: string): Promise<void> {
  if (await isSame(source, target)) throw overlap(path, 'it is the source itself')
  if (await isWithin(target, source)) throw overlap(path, 'it is inside the source')
  if (await isWithin(source, target)) throw overlap(path, 'the source is inside it')
}

function overlap(path: string, what: string): InotifyError {
  return new InotifyError({
    errno: 'EINVAL',
    syscall: 'mirror',
    path,
    hint: `${what}: the target must be a directory apart from it, best on a tmpfs`,
  })
}

async function isSame(a: HeldDirectory, b: HeldDirectory): Promise<boolean> {
  const [one, other] = [await a.stat(), await b.stat()]
  return one.dev === other.dev && one.ino === other.ino
}

/**
 * Whether `inner` is `outer` or beneath it. Climbing by inodes sees through symlinks and bind mounts of `outer`; a bind
 * mount of something inside it has other parents, for which the real paths are compared as well and the scan looks out.
 */
async function isWithin(inner: HeldDirectory, outer: HeldDirectory): Promise<boolean> {
  const [innerPath, outerPath] = [await pathHere(inner), await pathHere(outer)]
  if (innerPath !== undefined && outerPath !== undefined)
    if (`${innerPath}/`.startsWith(outerPath === '/' ? '/' : `${outerPath}/`)) return true
  let here = await inner.descend('')
  try {
    for (;;) {
      if (await isSame(here, outer)) return true
      const parent = await here.parent()
      const atRoot = await isSame(here, parent)
      await here.close()
      here = parent
      if (atRoot) return false
    }
  } finally {
    await here.close()
  }
}

/**
 * A directory's real path; undefined if it has none in this mount namespace. proc_pid_fd(5) shows one of another namespace by its
 * path there, where the same path here may well be the source itself.
 */
async function pathHere(held: HeldDirectory): Promise<string | undefined> {
  try {
    const path = await held.realpath()
    await using here = await HeldDirectory.open(held.calls, path)
    return (await isSame(here, held)) ? path : undefined
  } catch {
    // Nothing here is called so.
    return undefined
  }
}
