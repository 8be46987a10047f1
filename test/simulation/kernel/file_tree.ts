import { constants } from 'node:os'
import type { Kind } from '../../../src/index.ts'
import { IN_DELETE_SELF } from '../../../src/inotify/constants.ts'
import type { Resolved } from '../../../src/mounts/syscalls/symlinks.ts'
import { Inode } from './inode.ts'

const { ELOOP, ENOENT, ENOTDIR } = constants.errno
const MAX_LINKS = 40

/** The tick of the clock that stamps files, with CONFIG_HZ=100: the coarsest that Linux has. */
export const TICK_MS = 10

export const ROOT_INO = 2

/** A call that the kernel refuses. */
export class Refused extends Error {
  readonly errno: number
  constructor(errno: number, path: string) {
    super(`${path}: errno ${errno}`)
    this.errno = errno
  }
}

/** Names and inodes, and the resolution of paths. */
export class FileTree {
  readonly root: Inode
  readonly #coarseNow: () => number
  readonly #reusesInos: boolean
  // The inode numbers of deleted inodes, in ascending order.
  readonly #freeInos: number[] = []
  #nextIno = ROOT_INO
  #writes = 0

  /**
   * @param coarseNow the clock that stamps files, ms
   * @param reusesInos gives the least free inode number away again, as ext4 does; else each number is new, as
   * on tmpfs
   */
  constructor(coarseNow: () => number, reusesInos = false) {
    this.#coarseNow = coarseNow
    this.#reusesInos = reusesInos
    this.root = this.make('directory')
  }

  make(kind: Kind, target = ''): Inode {
    const ino = this.#freeInos.shift() ?? this.#nextIno++
    return new Inode(ino, kind, this.#coarseNow(), target)
  }

  /** The time of the clock that stamps files, ms. */
  get coarseNow(): number {
    return this.#coarseNow()
  }

  /** The number of writes to all files so far. */
  get writes(): number {
    return this.#writes
  }

  /** Gives the file new content. */
  write(file: Inode, size?: number): void {
    file.version = ++this.#writes
    // All sizes differ: within one tick of the clock a poll can tell two contents apart only by their size.
    file.size = size ?? 100 + file.version
    file.mtime = file.ctime = this.#coarseNow()
  }

  /**
   * Returns the inode that a path leads to. Follows symlinks, the last one only with `followLast`. Throws
   * Refused.
   */
  at(path: string, followLast = true): Inode {
    return this.resolve(path, followLast).inode
  }

  /** Does the same, and also returns the real path and the links on the way. Throws Refused. */
  resolve(path: string, followLast = true): Omit<Resolved, 'left'> & { inode: Inode } {
    const pending = components(path)
    const linkDirectories: string[] = []
    const links: Resolved['links'] = []
    const way: Array<{ name: string; inode: Inode }> = []
    const here = () => way.at(-1)?.inode ?? this.root
    const textOf = () => `/${way.map(({ name }) => name).join('/')}`
    for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
      if (name === '..') {
        way.pop()
        continue
      }
      const inode = this.child(here(), name)
      if (inode.kind !== 'symlink' || (pending.length === 0 && !followLast)) {
        way.push({ name, inode })
        continue
      }
      if (linkDirectories.push(textOf()) > MAX_LINKS) throw new Refused(ELOOP, path)
      links.push({ path: `${way.length > 0 ? textOf() : ''}/${name}`, to: inode.target })
      if (inode.target.startsWith('/')) way.length = 0
      pending.unshift(...components(inode.target))
    }
    return { inode: here(), realPath: textOf(), linkDirectories, links }
  }

  /** Returns the inode that a name in a directory stands for. Throws Refused. */
  child(directory: Inode, name: string): Inode {
    if (!directory.isDirectory) throw new Refused(ENOTDIR, name)
    const found = directory.children.get(name)
    if (found === undefined) throw new Refused(ENOENT, name)
    return found
  }

  /** Returns the directory of a path's last name, the name and its inode, if any. Throws Refused. */
  place(path: string): { parent: Inode; name: string; inode: Inode | undefined } {
    const end = path.lastIndexOf('/')
    const parent = this.at(path.slice(0, end))
    if (!parent.isDirectory) throw new Refused(ENOTDIR, path)
    const name = path.slice(end + 1)
    return { parent, name, inode: parent.children.get(name) }
  }

  /**
   * Does the same for a call that follows a last symlink: returns the place that the symlink leads to. Throws
   * Refused.
   */
  target(path: string): { parent: Inode; name: string; inode: Inode | undefined } {
    const at = this.place(path)
    return at.inode?.kind === 'symlink' ? this.place(this.resolve(path).realPath) : at
  }

  open(inode: Inode): Inode {
    inode.descriptors++
    return inode
  }

  close(inode: Inode): void {
    inode.descriptors--
    this.reap(inode)
  }

  /**
   * Drops an inode and its marks once the inode has neither a name nor a descriptor (fsnotify_inoderemove).
   */
  reap(inode: Inode): void {
    if (!inode.isRemoved || inode.descriptors > 0) return
    this.#free(inode)
    for (const [group, mark] of [...inode.marks]) {
      group.notify(mark, IN_DELETE_SELF, 0, '')
      group.drop(mark)
    }
  }

  /** Frees the number once: a caller that had the inode open may close the inode after this. */
  #free(inode: Inode): void {
    if (!this.#reusesInos || inode.isGone) return
    inode.isGone = true
    const { length } = this.#freeInos.filter((each) => each < inode.ino)
    this.#freeInos.splice(length, 0, inode.ino)
  }

  /** Yields all inodes below a directory with their paths. Follows no symlink. */
  *below(path: string, directory = this.at(path)): Generator<[path: string, inode: Inode]> {
    for (const [name, inode] of directory.children) {
      yield [`${path}/${name}`, inode]
      if (inode.isDirectory) yield* this.below(`${path}/${name}`, inode)
    }
  }
}

function components(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}
