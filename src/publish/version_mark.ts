import type { FileStat } from '../mounts/file_stat.ts'
import { effectiveUser, mayOthersRename } from './owner.ts'

/** S_ISVTX: where only the owner may write it says nothing, so nobody gives it to a directory of another use. */
const MARK = 0o1000

/**
 * What tells a version directory from another one that has been given the name of one. In a directory where others may rename, that can be
 * any of the effective user's; so there a version keeps a bit by which it is known, which takes its owner to set.
 */
export class VersionMark {
  /** Of a version directory that is being filled. */
  static readonly NEW_MODE = 0o700 | MARK

  readonly #isNeeded: boolean
  readonly #owners = new Set([effectiveUser()])
  #isKept = true

  constructor(directory: FileStat) {
    this.#isNeeded = mayOthersRename(directory)
  }

  /** The mode of a version directory that is complete. */
  modeOf(mode: number): number {
    return this.#isNeeded ? mode | MARK : mode
  }

  /** Learns whom the file system gives what we make: with NFS's root_squash that is not the effective user. */
  learnOwner({ uid }: FileStat): void {
    this.#owners.add(uid)
  }

  /** Learns from a complete version directory whether modes are kept at all: drvfs and ntfs-3g have one for everything. */
  learnModes({ mode }: FileStat): void {
    this.#isKept = (mode & BigInt(MARK)) !== 0n
  }

  /** Whether an entry with the name of a version is one, of this user's. */
  isOnVersion(stat: FileStat): boolean {
    const isMarked = !this.#isNeeded || !this.#isKept || (stat.mode & BigInt(MARK)) !== 0n
    return stat.isDirectory() && this.#owners.has(stat.uid) && isMarked
  }

  /** Whether a directory can be the one that has just been made: a private one of another use must not be opened up and filled. */
  static canBeNew({ mode }: FileStat): boolean {
    return (mode & 0o077n) !== 0n || (mode & BigInt(MARK)) !== 0n
  }
}
