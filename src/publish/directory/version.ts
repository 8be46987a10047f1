import { hash, randomInt } from 'node:crypto'
import { succeeds } from '../../mounts/syscalls/call_error.ts'
import { leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser, isPrivate, mayOthersRename } from '../../mounts/syscalls/ownership.ts'
import { removeTree } from '../../mounts/syscalls/remove_tree.ts'
import { AT_REMOVEDIR } from '../../mounts/syscalls/syscall_thread.ts'
import { mostOf, readWhole } from '../../volume/read_file.ts'
import { syncDirectory, syncFile, writeAll } from '../draft/durable.ts'
import { modeOfCopy } from '../draft/owner.ts'
import { temporaryName } from '../draft/temporary.ts'
import { failure } from '../failure.ts'
import { directoryMode, type Key, type Keys } from './keys.ts'

const S_ISGID = 0o2000

/**
 * S_ISVTX: in a directory that only its owner may write the bit has no effect, so nobody sets it for another use. Where others may write, as
 * in /tmp, it is no mark.
 */
const MARK = 0o1000

/**
 * Tells a version directory from another one that has been given a version's name. Where others may rename, that can be any directory of
 * the effective user's. So there a version keeps a mode bit as its mark, which only its owner can set.
 */
export class VersionMark {
  /** The mode of a version directory that is being filled. */
  static readonly NEW_MODE = 0o700 | MARK

  /** True: others may rename in the directory. */
  readonly isNeeded: boolean
  readonly #owners = new Set([effectiveUser()])
  #areModesKept = true

  constructor(directory: FileStat) {
    this.isNeeded = mayOthersRename(directory)
  }

  /** Returns the mode of a complete version directory. */
  modeOf(mode: number): number {
    return this.isNeeded ? mode | MARK : mode
  }

  /** Learns the user to whom the file system gives our files: with NFS's root_squash not the effective user. */
  learnOwner({ uid }: FileStat): void {
    this.#owners.add(uid)
  }

  /** Returns true if an entry with a version's name is a version of this user's. */
  isOnVersion(stat: FileStat): boolean {
    const isMarked = !this.isNeeded || !this.#areModesKept || hasMark(stat)
    return stat.isDirectory() && this.#owners.has(stat.uid) && isMarked
  }

  /** Returns true if the directory can be the one that was just made: a directory of another use must not be opened up and filled. */
  async isNew(directory: DirectoryHandle, parent: DirectoryHandle): Promise<boolean> {
    const isMarked = !this.isNeeded || (hasMark(directory.opened) && isPrivate(directory.opened))
    if (!isMarked && this.#areModesKept) this.#areModesKept = await keepsModes(parent)
    return (isMarked || !this.#areModesKept) && (await directory.names(1)).length === 0
  }
}

function hasMark({ mode }: FileStat): boolean {
  return (mode & 0o1022n) === BigInt(MARK)
}

/**
 * Returns true if a mount keeps modes: cifs, drvfs and ntfs-3g have one for everything. Tests by a file, since open(2) makes and opens
 * it at once: nobody can exchange it.
 */
async function keepsModes(directory: DirectoryHandle): Promise<boolean> {
  const [name, mode] = [temporaryName(), 0o600 | MARK]
  await using file = await directory.create(name, mode)
  await directory.calls.unlink(directory.at(name))
  return (file.opened.mode & 0o1777n) === BigInt(mode)
}

/** Makes a directory with all of the keys in it, on the disk, and returns its name; removes a version that it cannot complete. */
export async function writeVersion(
  directory: DirectoryHandle,
  keys: Keys,
  mark: VersionMark,
): Promise<string> {
  const name = await makeVersion(directory)
  await using version = await openNew(directory, name, mark)
  try {
    await fill(version, keys, mark, mark.modeOf(directoryMode(keys)))
    return name
  } catch (error) {
    await removeVersion(directory, name, mark).catch(() => {})
    throw error
  }
}

/** Returns true if a version directory has exactly these keys with this content. A version that cannot be read is to be written anew. */
export async function holdsKeys(directory: DirectoryHandle, name: string, keys: Keys): Promise<boolean> {
  try {
    await using version = await directory.directory(name)
    return await holds(version, keys)
  } catch {
    return false
  }
}

/** Returns the name of a new version directory, as AtomicWriter's: UTC, and digits against a second one in the same second. */
export function versionName(now = new Date()): string {
  const digits = now.toISOString().slice(0, 19).replace(/[-T:]/g, '_')
  return `..${digits}.${randomInt(1_000_000_000, 2 ** 32)}`
}

async function makeVersion(directory: DirectoryHandle): Promise<string> {
  for (;;) {
    const name = versionName()
    const making = directory.calls.mkdir(directory.at(name), VersionMark.NEW_MODE)
    if (await succeeds(making, 'EEXIST')) return name
  }
}

/**
 * Opens a directory that has just been made. A user who may rename beside it can have given its name to another directory in between.
 * Such a directory is not opened up to readers of the keys, nor filled, nor removed on failure.
 */
async function openNew(parent: DirectoryHandle, name: string, mark: VersionMark): Promise<DirectoryHandle> {
  const directory = await parent.directory(name)
  try {
    if (await mark.isNew(directory, parent)) return directory
  } catch (error) {
    await directory.close()
    await parent.calls.unlink(parent.at(name), AT_REMOVEDIR).catch(() => {})
    throw error
  }
  const path = await directory.realpath()
  await directory.close()
  const hint = 'somebody has exchanged the directory that was made for the new version'
  throw failure('EBUSY', 'mkdir', path, hint)
}

/**
 * Sets modes by chmod(2), as the writer's umask is not that of the readers. Only when all is there: an inherited set-group-ID bit gives
 * keys the group of the directory above, and chmod(2) clears that bit for a caller outside the group.
 */
async function fill(
  directory: DirectoryHandle,
  keys: Keys,
  mark: VersionMark,
  mode = directoryMode(keys),
): Promise<void> {
  const { calls } = directory
  await leavesAtOnce(keys.entries, async (name, key) => {
    if (key.kind === 'file') return await writeKey(directory, name, key, mark)
    await calls.mkdir(directory.at(name), VersionMark.NEW_MODE)
    await using below = await openNew(directory, name, mark)
    await fill(below, key, mark)
  })
  await calls.chmod(directory.fd, mode | (Number(directory.opened.mode) & S_ISGID))
  await syncDirectory(directory)
}

async function writeKey(
  directory: DirectoryHandle,
  name: string,
  key: Key,
  mark: VersionMark,
): Promise<void> {
  await using file = await directory.create(name, 0o600)
  mark.learnOwner(file.opened)
  await writeAll(file, key.data)
  await file.calls.chmod(file.fd, modeOfCopy(key.mode, key.group, file.opened))
  await syncFile(file.calls, file.fd)
}

async function holds(directory: DirectoryHandle, keys: Keys): Promise<boolean> {
  const names = await directory.names(keys.entries.size + 1)
  if (names.length !== keys.entries.size) return false
  for (const [name, key] of keys.entries) {
    if (key.kind === 'directory') {
      await using below = await directory.directory(name)
      if (!(await holds(below, key))) return false
    } else {
      await using file = await directory.file(name, mostOf(key.data.length))
      const { digest } = await readWhole(file, key.data.length, () => {})
      if (digest !== hash('sha256', key.data, 'base64')) return false
    }
  }
  return true
}

/** Removes a version directory; nothing else of that name. */
export async function removeVersion(
  directory: DirectoryHandle,
  name: string,
  mark: VersionMark,
): Promise<void> {
  await removeTree(directory, name, (stat) => mark.isOnVersion(stat))
}
