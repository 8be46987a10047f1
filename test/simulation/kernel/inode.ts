import type { Kind } from '../../../src/index.ts'
import type { InotifyGroup, Mark } from './inotify_group.ts'

/** A file, directory or symlink, without a name. */
export class Inode {
  readonly ino: number
  readonly kind: Kind
  /** ms, of a clock that ticks. */
  readonly btime: number
  mtime: number
  ctime: number
  mode: number
  size = 0
  /** The number of the last write to this file, counted over all files; 0: never written. */
  version = 0
  /**
   * A write took longer than the engine allows for between the file's time stamp and the event. No recovery
   * can find such a write (docs/semantics.md, "Limits of `watch()`").
   */
  isSlowlyWritten = false
  /** The text of a symlink. */
  readonly target: string
  readonly children = new Map<string, Inode>()
  /** The last name is gone. The watches stay until the last descriptor is closed. */
  isRemoved = false
  /** Another inode may have the number. */
  isGone = false
  /** The number of open descriptors. */
  descriptors = 0
  /** A call that changes names in this directory is under way: getdents(2) waits for the call. */
  isLocked = false
  readonly marks = new Map<InotifyGroup, Mark>()

  constructor(ino: number, kind: Kind, now: number, target = '') {
    this.ino = ino
    this.kind = kind
    this.btime = this.mtime = this.ctime = now
    this.target = target
    this.mode = kind === 'directory' ? 0o40755 : kind === 'symlink' ? 0o120777 : 0o100644
  }

  get isDirectory(): boolean {
    return this.kind === 'directory'
  }
}
