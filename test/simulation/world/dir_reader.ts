import { constants } from 'node:os'
import { type Entry, mayBeChangedSince } from '../../../src/watch/scan/entry.ts'
import type { WalkRequest } from '../../../src/watch/scan/walk_request.ts'
import type { RecordSpec } from '../../watch/scan/records.ts'
import { VANISHED } from '../../watch/scan/records.ts'
import { type FileTree, Refused } from '../kernel/file_tree.ts'
import type { Inode } from '../kernel/inode.ts'
import type { InotifyGroup } from '../kernel/inotify_group.ts'
import type { OpenFailures } from './failing_opens.ts'

const LOOK = 2
const { ENOENT, ENOTDIR } = constants.errno

/** The steps of a walk. A step yields a description for people. */
export type Steps<T> = Generator<string, T>

/**
 * The result of a visit to a directory. The directory is held open until {@link FileTree.close}, if there is
 * one.
 */
export interface Visit {
  spec: Omit<RecordSpec, 'id'>
  directory: Inode | undefined
  subdirectories: string[]
}

/**
 * Visits one directory as native/scan/dir_reader.cc does: opens it, adds its watch, reads its names, stats
 * each name.
 */
export class DirReader {
  readonly #tree: FileTree
  readonly #namesPerRead: number
  readonly #failures: OpenFailures
  // The parent of the last request's directory. The reader holds the parent open, so that a rename does not
  // matter (native/scan/opener.h).
  #parent: { path: string; inode: Inode } | undefined
  /** The directory that the reader waits for: no directory is listed while a call holds it locked. */
  awaits: Inode | undefined

  constructor(tree: FileTree, namesPerRead: number, failures: OpenFailures) {
    this.#failures = failures
    this.#tree = tree
    this.#namesPerRead = namesPerRead
  }

  *visit(
    request: WalkRequest,
    above: Inode | undefined,
    name: string,
    path: string,
    watching: { group: InotifyGroup; mask: number } | undefined,
  ): Steps<Visit> {
    const spec: Visit['spec'] = { name, mountId: 1, flags: request.names === undefined ? 0 : LOOK }
    let directory: Inode
    // Two opens: by name, and once more for reading.
    const failure = this.#failures.next()
    if (failure !== 0) {
      spec.error = failure
      yield `fails to open ${path}: ${failure}`
      return { spec, directory: undefined, subdirectories: [] }
    }
    try {
      directory = this.#tree.open(
        above === undefined ? this.#openRequest(request) : this.#openChild(above, name),
      )
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      spec.error = -error.errno
      yield `fails to open ${path}`
      return { spec, directory: undefined, subdirectories: [] }
    }
    spec.ino = directory.ino
    spec.mode = directory.mode
    yield `opens ${path}`
    const entries: Array<[string, Entry]> = []
    spec.entries = entries
    if (request.names !== undefined) {
      yield* this.#look(directory, path, request.names, request.stat === true, entries)
      this.#tree.close(directory)
      return { spec, directory: undefined, subdirectories: [] }
    }
    if (request.watch && watching !== undefined) {
      spec.wd = watching.group.add(directory, watching.mask)
      this.awaits = directory
      yield `watches ${path}`
    }
    spec.error = this.#failures.next()
    if (spec.error !== 0) {
      this.awaits = undefined
      this.#tree.close(directory)
      yield `fails to open ${path} to read it: ${spec.error}`
      return { spec, directory: undefined, subdirectories: [] }
    }
    delete spec.error
    yield* this.#list(directory, path, request, spec, entries)
    const isDirectory = ([, { kind }]: [string, Entry]) => kind === 'directory'
    const subdirectories = request.recursive ? entries.filter(isDirectory).map(([each]) => each) : []
    if (subdirectories.length > 0) return { spec, directory, subdirectories }
    this.#tree.close(directory)
    return { spec, directory: undefined, subdirectories }
  }

  /** Closes the parent, so that no later request begins there. */
  forgetParent(): void {
    if (this.#parent !== undefined) this.#tree.close(this.#parent.inode)
    this.#parent = undefined
  }

  *#look(
    directory: Inode,
    path: string,
    names: readonly string[],
    stat: boolean,
    entries: Array<[string, Entry]>,
  ): Steps<void> {
    for (const name of names) {
      const inode = directory.children.get(name)
      if (inode !== undefined) entries.push([name, entryOf(inode, stat)])
      yield `looks at ${path}/${name}`
    }
  }

  // getdents(2) continues behind the last name that it returned, in an order of its own.
  *#list(
    directory: Inode,
    path: string,
    request: WalkRequest,
    spec: Visit['spec'],
    entries: Array<[string, Entry]>,
  ): Steps<void> {
    for (let cursor = -1; ; ) {
      this.awaits = undefined
      if (directory.isRemoved) {
        spec.error = -ENOENT
        return
      }
      const rest = [...directory.children]
        .map(([name, inode]) => ({ name, inode, at: orderOf(name) }))
        .filter(({ at }) => at > cursor)
        .sort((a, b) => a.at - b.at)
      const failure = this.#failures.nextOfAny()
      if (failure !== 0) {
        spec.error = failure
        yield `fails to read ${path}: ${failure}`
        return
      }
      const read = rest.slice(0, this.#namesPerRead)
      yield `reads ${read.length} of ${rest.length} names in ${path}`
      for (const { name, inode } of read) {
        const listed: [string, Entry] = [name, entryOf(inode, false)]
        if (!request.stat) entries.push(listed)
        else yield* this.#stat(directory, path, listed, request.since ?? 0, spec, entries)
      }
      if (read.length === rest.length) return
      cursor = read.at(-1)?.at ?? cursor
      this.awaits = directory
    }
  }

  *#stat(
    directory: Inode,
    path: string,
    listed: [string, Entry],
    since: number,
    spec: Visit['spec'],
    entries: Array<[string, Entry]>,
  ): Steps<void> {
    const [name] = listed
    const inode = directory.children.get(name)
    if (inode === undefined) spec.flags = (spec.flags ?? 0) | VANISHED
    else
      entries.push(mayBeChangedSince({ ctimeMs: inode.ctime }, since) ? [name, entryOf(inode, true)] : listed)
    yield `asks for ${path}/${name}`
  }

  #openRequest({ root, noFollow, rel, parentIno }: WalkRequest): Inode {
    const names = rel === '' ? [] : rel.split('/')
    const last = names.pop()
    if (last === undefined) return this.#openWay(root, noFollow, names)
    const path = `${root}//${names.join('/')}`
    if (this.#parent?.path !== path) {
      const inode = this.#tree.open(this.#openWay(root, noFollow, names))
      this.forgetParent()
      this.#parent = { path, inode }
    }
    const above = this.#parent.inode
    if (parentIno !== undefined && above.ino !== parentIno) throw new Refused(ENOENT, rel)
    return this.#openChild(above, last)
  }

  #openWay(root: string, noFollow: boolean | undefined, names: readonly string[]): Inode {
    let inode = this.#tree.at(root, noFollow !== true)
    if (!inode.isDirectory) throw new Refused(ENOTDIR, root)
    for (const name of names) inode = this.#openChild(inode, name)
    return inode
  }

  #openChild(parent: Inode, name: string): Inode {
    const inode = this.#tree.child(parent, name)
    if (!inode.isDirectory) throw new Refused(ENOTDIR, name)
    return inode
  }
}

function entryOf({ kind, ino, mode, isRemoved, size, mtime, ctime, btime }: Inode, stat: boolean): Entry {
  if (!stat) return { kind, ino }
  const nlink = isRemoved ? 0 : 1
  const times = { mtime: mtime * 1e6, ctime: ctime * 1e6, ctimeMs: ctime, btimeMs: btime }
  return { kind, ino, stat: { mode, uid: 0, gid: 0, nlink, size, ...times } }
}

/**
 * Returns the position of a name in its directory, like a hash. No two names that are played have the same.
 */
function orderOf(name: string): number {
  let order = 0
  for (const letter of name) order = (order * 31 + letter.charCodeAt(0)) % 1_000_003
  return order
}
