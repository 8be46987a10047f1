import { constants } from 'node:os'
import type { Kind } from '../../../src/index.ts'
import { IN_DELETE_SELF } from '../../../src/inotify/constants.ts'
import type { Resolved } from '../../../src/mounts/syscalls/symlinks.ts'
import { Inode } from './inode.ts'

const { ELOOP, ENOENT, ENOTDIR } = constants.errno
const MAX_LINKS = 40

/** Of the clock that files are stamped by: as CONFIG_HZ=100 has it, the coarsest there is. */
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

/** Names and inodes, and what leads from a path to one. */
export class FileTree {
  readonly root: Inode
  readonly #coarseNow: () => number
  readonly #reusesInos: boolean
  // Those of inodes that are gone.
  readonly #freeInos: number[] = []
  #nextIno = ROOT_INO
  #writes = 0

  /**
   * @param coarseNow what files are stamped with, ms
   * @param reusesInos the least free inode number is given away again, as ext4 does; else each is another, as on tmpfs
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

  /** ms. */
  get coarseNow(): number {
    return this.#coarseNow()
  }

  /** How many writes there have been. */
  get writes(): number {
    return this.#writes
  }

  /** What it holds is another from now on. */
  write(file: Inode, size?: number): void {
    file.version = ++this.#writes
    // No two are of the same size: within one tick of the clock a poll has nothing else to tell them by.
    file.size = size ?? 100 + file.version
    file.mtime = file.ctime = this.#coarseNow()
  }

  /** What is at a path, by way of any symlinks but for a last one that is not to be followed. Throws Refused. */
  at(path: string, followLast = true): Inode {
    return this.resolve(path, followLast).inode
  }

  /** The same, with the way there: the real path, and the links. Throws Refused. */
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

  /** What a name in a directory stands for. Throws Refused. */
  child(directory: Inode, name: string): Inode {
    if (!directory.isDirectory) throw new Refused(ENOTDIR, name)
    const found = directory.children.get(name)
    if (found === undefined) throw new Refused(ENOENT, name)
    return found
  }

  /** The directory that a path's last name is in, and what has that name. Throws Refused. */
  place(path: string): { parent: Inode; name: string; inode: Inode | undefined } {
    const end = path.lastIndexOf('/')
    const parent = this.at(path.slice(0, end))
    if (!parent.isDirectory) throw new Refused(ENOTDIR, path)
    const name = path.slice(end + 1)
    return { parent, name, inode: parent.children.get(name) }
  }

  /** The same for a call that follows a last symlink: where that leads. Throws Refused. */
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

  /** With its last name and its last descriptor an inode goes, and its marks with it (fsnotify_inoderemove). */
  reap(inode: Inode): void {
    if (!inode.isRemoved || inode.descriptors > 0) return
    this.#free(inode)
    for (const [group, mark] of [...inode.marks]) {
      group.notify(mark, IN_DELETE_SELF, 0, '')
      group.drop(mark)
    }
  }

  /** Once: it may be closed again by who had it open before. */
  #free(inode: Inode): void {
    if (!this.#reusesInos || inode.isGone) return
    inode.isGone = true
    const { length } = this.#freeInos.filter((each) => each < inode.ino)
    this.#freeInos.splice(length, 0, inode.ino)
  }

  /** All that lies below a directory, by path; nothing is followed. */
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
