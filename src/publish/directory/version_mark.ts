import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser, isPrivate, mayOthersRename } from '../../mounts/syscalls/ownership.ts'
import { temporaryName } from '../draft/temporary.ts'

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
