import { dirname } from 'node:path'
import { InotifyError } from '../../errors.ts'
import { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { onTarget } from '../copy/safe_copy.ts'
import type { TargetTree } from '../plan/tree.ts'
import { hasLinks, Staging } from '../staging/staging.ts'
import { readBack } from '../staging/takeover.ts'
import type { Inode } from './lineage.ts'
import {
  openTarget,
  removeIfEmpty,
  type SourceDirectory,
  TargetGone,
  warnUnlessInMemory,
} from './open_target.ts'

/** The most times that a target is made anew after another mirror has made and removed it. */
const ATTEMPTS = 3

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
  /** The directory that its path was in; undefined where that cannot be looked at. */
  readonly above: Inode | undefined
  readonly staging: Staging
  /** The mirror's entries. */
  readonly tree: TargetTree
  /** The number of passes under way that make things ready here. */
  passes: number
}

/** Opens the directory, and takes over what mirrors before have left in it. */
export async function openAt(calls: SyscallThread, place: TargetPlace, above?: Inode): Promise<OpenedTarget> {
  for (let left = ATTEMPTS; ; left--) {
    try {
      return await openOnce(calls, place, above)
    } catch (error) {
      if (!(error instanceof TargetGone)) throw error
      if (left === 0)
        throw new InotifyError({
          errno: 'ENOENT',
          syscall: 'mirror',
          path: place.directory,
          hint: 'it is removed as often as it is made: something else cleans up there',
        })
    }
  }
}

async function openOnce(
  calls: SyscallThread,
  { directory, only, sources, bytes }: TargetPlace,
  from?: Inode,
): Promise<OpenedTarget> {
  const { held, created } = await openTarget(calls, directory, sources, from)
  let staging: Staging | undefined
  try {
    await warnUnlessInMemory(held, directory)
    const options = { shown: directory, createdTarget: created, only }
    staging = await onTarget(directory, Staging.open(held, options))
    const tree = await onTarget(directory, readBack(held, staging.made, only, bytes))
    // One name is the staging directory's.
    const wasEmpty = tree.entries.size === 0 && (await onTarget(directory, held.names(2))).length === 1
    const above = await inodeAt(calls, dirname(directory))
    return { held, wasEmpty, above, staging, tree, passes: 0 }
  } catch (error) {
    const isGone = await isRemoved(held)
    await letGo(held, staging)
    if (isGone) throw new TargetGone()
    if (created) await removeIfEmpty(calls, directory).catch(() => {})
    throw error
  }
}

/** Returns true if a directory is at no path any more; false if nobody can tell. */
export async function isRemoved(held: DirectoryHandle): Promise<boolean> {
  return !(await hasLinks(held).catch(() => true))
}

async function inodeAt(calls: SyscallThread, path: string): Promise<Inode | undefined> {
  try {
    await using held = await DirectoryHandle.open(calls, path)
    return held.opened
  } catch {
    return undefined
  }
}

/** Closes what was mirrored to, and leaves the notes for the next mirror. */
export async function letGo(held: DirectoryHandle, staging: Staging | undefined): Promise<void> {
  const leaving = staging && (staging.made.size > 0 ? staging.leave() : staging.remove())
  // If it has been removed, nothing can be left.
  await leaving?.catch(() => {})
  await held.close()
}
