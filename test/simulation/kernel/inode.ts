import type { Kind } from '../../../src/index.ts'
import type { InotifyGroup, Mark } from './inotify_group.ts'

/** A file, directory or symlink, whatever its name is. */
export class Inode {
  readonly ino: number
  readonly kind: Kind
  /** ms, of a clock that ticks. */
  readonly btime: number
  mtime: number
  ctime: number
  mode: number
  size = 0
  /** The number of the last write to it, counted over all files; 0: never written. */
  version = 0
  /** A write to it took longer than the engine allows for between the time that it leaves and its event: no recovery can find that (docs/semantics.md, "Limits of `watch()`"). */
  isSlowlyWritten = false
  /** What a symlink says. */
  readonly target: string
  readonly children = new Map<string, Inode>()
  /** No name is left. Descriptors may be: until they are closed, its watches stay. */
  isRemoved = false
  /** Its number is another's to have. */
  isGone = false
  /** How many descriptors are open of it. */
  descriptors = 0
  /** A call that changes its names is under way: getdents(2) waits for it. */
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
