import { constants } from 'node:os'
import type { Kind } from '../../../src/index.ts'
import {
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_ISDIR,
  IN_MODIFY,
  IN_MOVE_SELF,
  IN_MOVED_FROM,
  IN_MOVED_TO,
} from '../../../src/inotify/constants.ts'
import { CLOCK_SLACK_MS } from '../../../src/watch/clock.ts'
import { type FileTree, Refused, TICK_MS } from './file_tree.ts'
import type { Inode } from './inode.ts'

const { EEXIST, EINVAL, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY } = constants.errno

/**
 * A call under way. The call yields undefined when others can see a part of its work and more is to come. The
 * call yields a directory when it waits for that directory, which another call holds locked.
 */
export type Call = Generator<Inode | undefined, void>

/**
 * The system calls that change files. A call changes the tree first, and queues each event a step later: a
 * caller that looks up a name meanwhile is ahead of the queue. A caller that lists the directory is not,
 * because a call holds the directory locked until its events are queued (fs/namei.c).
 */
export class FileOperations {
  readonly #tree: FileTree
  #cookie = 0

  constructor(tree: FileTree) {
    this.#tree = tree
  }

  /** open(2) with O_CREAT and O_TRUNC, write(2) and close(2). */
  *write(path: string): Call {
    const { parent, name, inode } = yield* this.#target(path)
    if (inode?.isDirectory) throw new Refused(EISDIR, path)
    const file = inode ?? this.#tree.make('file')
    if (inode === undefined) yield* this.#create(parent, name, file)
    else {
      yield* this.#write(parent, name, file)
      yield
    }
    yield* this.#append(parent, name, file)
  }

  /** open(2) with O_CREAT and O_TRUNC, and close(2): an empty file. */
  *create(path: string): Call {
    const { parent, name, inode } = yield* this.#target(path)
    if (inode?.isDirectory) throw new Refused(EISDIR, path)
    const file = inode ?? this.#tree.make('file')
    if (inode === undefined) yield* this.#create(parent, name, file)
    else {
      yield* this.#write(parent, name, file, 0)
      yield
    }
    yield* this.#notifyBoth(parent, name, file, IN_CLOSE_WRITE)
  }

  /** open(2) with O_CREAT and without O_TRUNC, write(2) and close(2). */
  *append(path: string): Call {
    const { parent, name, inode } = yield* this.#target(path)
    if (inode?.isDirectory) throw new Refused(EISDIR, path)
    const file = inode ?? this.#tree.make('file')
    if (inode === undefined) yield* this.#create(parent, name, file)
    yield* this.#append(parent, name, file)
  }

  /** open(2), ftruncate(2), close(2). */
  *truncate(path: string): Call {
    const { parent, name, inode } = yield* this.#target(path)
    if (inode === undefined) throw new Refused(ENOENT, path)
    yield* this.#write(parent, name, inode, 1)
    yield
    yield* this.#notifyBoth(parent, name, inode, IN_CLOSE_WRITE)
  }

  /** mkdir(2), mkfifo(3) or symlink(2). */
  *make(path: string, kind: Kind, target = ''): Call {
    const [{ parent, name, inode }] = yield* this.#unlocked(() => [this.#tree.place(path)])
    if (inode !== undefined) throw new Refused(EEXIST, path)
    yield* this.#create(parent, name, this.#tree.make(kind, target))
  }

  /** unlink(2) or rmdir(2). */
  *remove(path: string): Call {
    const [{ parent, name, inode }] = yield* this.#unlocked(() => [this.#tree.place(path)])
    if (inode === undefined) throw new Refused(ENOENT, path)
    if (inode.children.size > 0) throw new Refused(ENOTEMPTY, path)
    this.#lock(parent)
    parent.children.delete(name)
    inode.isRemoved = true
    inode.ctime = this.#touch(parent)
    yield
    // fsnotify_link_count, which leaves directories out. Then d_delete_notify: the inode's own events come
    // first, unless a descriptor of the inode is open.
    if (!inode.isDirectory) this.#notify(inode, IN_ATTRIB, '')
    this.#tree.reap(inode)
    this.#notify(parent, IN_DELETE | isDirBit(inode), name)
    this.#unlock(parent)
  }

  /** chmod(2), which flips the given bits; chown(2), utimes(2). */
  *attrib(path: string, bits = 0): Call {
    const { parent, name, inode } = yield* this.#target(path)
    if (inode === undefined) throw new Refused(ENOENT, path)
    inode.mode ^= bits
    inode.ctime = this.#tree.coarseNow
    yield
    yield* this.#notifyBoth(parent, name, inode, IN_ATTRIB | isDirBit(inode))
  }

  /** rename(2): replaces the target, if there is one. */
  *rename(from: string, to: string): Call {
    const [one, other] = yield* this.#unlocked(() => [this.#tree.place(from), this.#tree.place(to)])
    const moved = one.inode
    const target = other.inode
    if (moved === undefined) throw new Refused(ENOENT, from)
    if (moved === target) return
    if (this.#isBelow(other.parent, moved)) throw new Refused(EINVAL, to)
    if (target !== undefined && target.isDirectory !== moved.isDirectory)
      throw new Refused(target.isDirectory ? EISDIR : ENOTDIR, to)
    if (target !== undefined && target.children.size > 0) throw new Refused(ENOTEMPTY, to)
    this.#lock(one.parent, other.parent)
    one.parent.children.delete(one.name)
    other.parent.children.set(other.name, moved)
    moved.ctime = this.#touch(one.parent, other.parent)
    if (target !== undefined) {
      target.isRemoved = true
      target.ctime = moved.ctime
    }
    yield
    yield* this.#tellOfMove(moved, one, other, target)
    this.#unlock(one.parent, other.parent)
    // The replaced inode's dentry goes last, with the rename itself.
    if (target !== undefined) this.#tree.reap(target)
  }

  /** renameat2(2) with RENAME_EXCHANGE. */
  *exchange(path: string, otherPath: string): Call {
    const [one, other] = yield* this.#unlocked(() => [this.#tree.place(path), this.#tree.place(otherPath)])
    const [a, b] = [one.inode, other.inode]
    if (a === undefined || b === undefined) throw new Refused(ENOENT, path)
    if (a === b) return
    if (this.#isBelow(other.parent, a) || this.#isBelow(one.parent, b)) throw new Refused(EINVAL, path)
    this.#lock(one.parent, other.parent)
    one.parent.children.set(one.name, b)
    other.parent.children.set(other.name, a)
    a.ctime = b.ctime = this.#touch(one.parent, other.parent)
    yield
    yield* this.#tellOfMove(a, one, other, undefined)
    yield* this.#tellOfMove(b, other, one, undefined)
    this.#unlock(one.parent, other.parent)
  }

  // Queues the events of fsnotify_move.
  *#tellOfMove(moved: Inode, from: Place, to: Place, target: Inode | undefined): Call {
    const cookie = ++this.#cookie
    this.#notify(from.parent, IN_MOVED_FROM | isDirBit(moved), from.name, cookie)
    yield
    this.#notify(to.parent, IN_MOVED_TO | isDirBit(moved), to.name, cookie)
    yield
    // The link count of the replaced inode has changed.
    if (target !== undefined) this.#notify(target, IN_ATTRIB | isDirBit(target), '')
    this.#notify(moved, IN_MOVE_SELF, '')
  }

  *#create(parent: Inode, name: string, inode: Inode): Call {
    this.#lock(parent)
    parent.children.set(name, inode)
    this.#touch(parent)
    yield
    this.#notify(parent, IN_CREATE | isDirBit(inode), name)
    this.#unlock(parent)
    if (inode.kind === 'file') yield
  }

  *#append(parent: Inode, name: string, file: Inode): Call {
    yield* this.#write(parent, name, file)
    yield
    yield* this.#notifyBoth(parent, name, file, IN_CLOSE_WRITE)
  }

  /**
   * vfs_write: the kernel stamps the file before the first byte is written, and queues the event after the
   * last one.
   */
  *#write(parent: Inode, name: string, file: Inode, size?: number): Call {
    const startedAt = this.#tree.coarseNow
    this.#tree.write(file, size)
    yield
    yield* this.#notifyBoth(parent, name, file, IN_MODIFY)
    file.isSlowlyWritten = this.#tree.coarseNow - startedAt > CLOCK_SLACK_MS - TICK_MS
  }

  /**
   * fsnotify_handle_event: the directory's watch gets the event first, with the name, and then the inode's
   * own watch. Another writer may have renamed the file since this call opened it.
   */
  *#notifyBoth(parent: Inode, name: string, inode: Inode, mask: number): Call {
    for (;;) {
      const place = parent.children.get(name) === inode ? { parent, name } : this.#placeOf(inode)
      if (place?.parent.isLocked) {
        yield place.parent
        continue
      }
      // The kernel queues no event for a file without a name: IN_EXCL_UNLINK.
      if (place !== undefined) this.#notify(place.parent, mask, place.name)
      this.#notify(inode, mask, '')
      return
    }
  }

  #placeOf(inode: Inode): Place | undefined {
    for (const [path, each] of this.#tree.below('')) if (each === inode) return this.#tree.place(path)
    return undefined
  }

  #notify(inode: Inode, mask: number, name: string, cookie = 0): void {
    for (const [group, mark] of inode.marks) group.notify(mark, mask, cookie, name)
  }

  #touch(...directories: Inode[]): number {
    const now = this.#tree.coarseNow
    for (const directory of directories) directory.mtime = directory.ctime = now
    return now
  }

  #isBelow(inode: Inode, directory: Inode): boolean {
    if (inode === directory) return true
    return [...directory.children.values()].some((each) => each.isDirectory && this.#isBelow(inode, each))
  }

  /**
   * Finds the file that a call is about. The call waits for a rename under way, as its events do. Linux waits
   * for neither: a write by the new name, with its event queued before those of the rename, is not played.
   */
  *#target(path: string): Generator<Inode, FoundPlace> {
    const [found] = yield* this.#unlocked(() => [this.#tree.target(path)])
    return found
  }

  /**
   * Looks names up when neither their directories nor the found inodes are locked, so that the caller may
   * lock them.
   */
  *#unlocked<Places extends readonly FoundPlace[]>(
    look: () => readonly [...Places],
  ): Generator<Inode, readonly [...Places]> {
    for (;;) {
      const places = look()
      const locked = places.flatMap(({ parent, inode }) => [parent, inode]).find((each) => each?.isLocked)
      if (locked === undefined) return places
      yield locked
    }
  }

  #lock(...directories: Inode[]): void {
    for (const directory of directories) directory.isLocked = true
  }

  #unlock(...directories: Inode[]): void {
    for (const directory of directories) directory.isLocked = false
  }
}

interface Place {
  parent: Inode
  name: string
}

interface FoundPlace extends Place {
  inode: Inode | undefined
}

function isDirBit(inode: Inode): number {
  return inode.isDirectory ? IN_ISDIR : 0
}
