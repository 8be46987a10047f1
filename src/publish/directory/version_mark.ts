import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser, isPrivate, mayOthersRename } from '../../mounts/syscalls/ownership.ts'
import { temporaryName } from '../draft/ready.ts'

/**
 * S_ISVTX: where only the owner may write it says nothing, so nobody gives it to a directory of another use. Where others may, as in /tmp, it
 * is no mark.
 */
const MARK = 0o1000

/**
 * What tells a version directory from another one that has been given the name of one. In a directory where others may rename, that can be
 * any of the effective user's; so there a version keeps a bit by which it is known, which takes its owner to set.
 */
export class VersionMark {
  /** Of a version directory that is being filled. */
  static readonly NEW_MODE = 0o700 | MARK

  /** Whether others may rename there. */
  readonly isNeeded: boolean
  readonly #owners = new Set([effectiveUser()])
  #areModesKept = true

  constructor(directory: FileStat) {
    this.isNeeded = mayOthersRename(directory)
  }

  /** The mode of a version directory that is complete. */
  modeOf(mode: number): number {
    return this.isNeeded ? mode | MARK : mode
  }

  /** Learns whom the file system gives what we make: with NFS's root_squash that is not the effective user. */
  learnOwner({ uid }: FileStat): void {
    this.#owners.add(uid)
  }

  /** Whether an entry with the name of a version is one, of this user's. */
  isOnVersion(stat: FileStat): boolean {
    const isMarked = !this.isNeeded || !this.#areModesKept || hasMark(stat)
    return stat.isDirectory() && this.#owners.has(stat.uid) && isMarked
  }

  /** Whether what has the name of a directory that has just been made can be it: one of another use must not be opened up and filled. */
  async canBeNew(directory: FileStat, parent: DirectoryHandle): Promise<boolean> {
    if (!this.isNeeded || (hasMark(directory) && isPrivate(directory))) return true
    if (this.#areModesKept) this.#areModesKept = await keepsModes(parent)
    return !this.#areModesKept
  }
}

function hasMark({ mode }: FileStat): boolean {
  return (mode & 0o1022n) === BigInt(MARK)
}

/**
 * Whether a mount keeps modes at all: cifs, drvfs and ntfs-3g have one for everything. Shown by a file, which open(2) makes and opens at
 * once, and so is no other.
 */
async function keepsModes(directory: DirectoryHandle): Promise<boolean> {
  const [name, mode] = [temporaryName(), 0o600 | MARK]
  await using file = await directory.create(name, mode)
  await directory.calls.unlink(directory.at(name))
  return (file.opened.mode & 0o1777n) === BigInt(mode)
}
