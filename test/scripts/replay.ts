import { accessSync, constants, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Change, ExchangeChange, Kind } from '../../src/index.ts'
import { bytesOf, textOf } from './words.ts'

/** Names and kinds, by path. */
export type Tree = Map<string, Kind>

export const isWithin = (path: string, directory: string) =>
  path === directory || path.startsWith(`${directory}/`)

/**
 * A consumer that knows only the changes, applied in order. The replay is strict: a change that does not fit
 * the ones before (a create of a known path, a delete of an unknown one) is a complaint.
 */
export class Replay {
  readonly tree: Tree
  readonly roots: Set<string>
  /** The roots that are lost, or were missing at the start. */
  readonly lost: Set<string>
  readonly #complaints: string[] = []

  constructor(tree: Tree, roots: Iterable<string>, lost: Iterable<string> = []) {
    this.tree = new Map(tree)
    this.roots = new Set(roots)
    this.lost = new Set(lost)
  }

  apply(changes: Iterable<Change>): void {
    for (const change of changes) {
      if (change.type === 'exchange') this.#exchange(change)
      else if (change.type === 'rename') this.#rename(change.from, change.path, change.kind, change.replaced)
      else if (change.type === 'create') this.#create(change.path, change.kind)
      else if (change.type === 'delete') this.#delete(change.path, change.kind)
      else if (change.type === 'modify' || change.type === 'attrib') this.#alter(change.path, change.type)
      else if (change.type === 'lost') this.#lose(change.path)
      else if (change.type === 'restored') this.#restore(change.path)
    }
  }

  /** Returns the complaints since the last call. */
  complaints(): string[] {
    return this.#complaints.splice(0)
  }

  /** Returns the known entries, without those of lost roots: nothing is known of these. */
  get present(): Tree {
    return new Map([...this.tree].filter(([path]) => ![...this.lost].some((root) => isWithin(path, root))))
  }

  #create(path: string, kind: Kind): void {
    if (this.tree.has(path)) this.#complain(`create of ${path}, which is there`)
    this.#expectParent(path, 'create')
    this.#take(path)
    this.tree.set(path, kind)
  }

  #delete(path: string, kind: Kind): void {
    this.#expect('delete', path, kind)
    this.#take(path)
  }

  #alter(path: string, type: string): void {
    if (!this.tree.has(path)) this.#complain(`${type} of ${path}, which is not there`)
  }

  #rename(from: string, to: string, kind: Kind, replaced: boolean): void {
    this.#expect('rename', from, kind)
    const isThere = this.tree.has(to)
    if (replaced && !isThere) this.#complain(`rename to ${to} replaces what is not there`)
    if (!replaced && isThere) this.#complain(`rename to ${to}, where something is`)
    this.#expectParent(to, 'rename')
    const moved = this.#take(from)
    this.#take(to)
    this.#put(to, moved)
    this.tree.set(to, kind)
  }

  #exchange({ path, other, kind, otherKind }: ExchangeChange): void {
    if (isWithin(path, other) || isWithin(other, path)) this.#complain(`exchange of ${path} and ${other}`)
    this.#expect('exchange', path, otherKind)
    this.#expect('exchange', other, kind)
    const [here, there] = [this.#take(path), this.#take(other)]
    this.#put(path, there)
    this.#put(other, here)
    this.tree.set(path, kind)
    this.tree.set(other, otherKind)
  }

  #expect(type: string, path: string, kind: Kind): void {
    const known = this.tree.get(path)
    if (known === undefined) this.#complain(`${type} of ${path}, which is not there`)
    else if (isOther(known, kind)) this.#complain(`${type} of ${path} as ${kind}, which is ${known}`)
  }

  #put(path: string, tree: Tree): void {
    for (const [rest, kind] of tree) this.tree.set(path + rest, kind)
  }

  #lose(root: string): void {
    if (!this.roots.has(root)) this.#complain(`lost ${root}, which is no root`)
    if (this.lost.has(root)) this.#complain(`lost ${root} twice`)
    this.lost.add(root)
  }

  #restore(root: string): void {
    if (!this.lost.delete(root)) this.#complain(`restored ${root}, which was not lost`)
  }

  /** Removes and returns the entry at a path and the entries below, by relative path. */
  #take(path: string): Tree {
    const taken: Tree = new Map()
    for (const [other, kind] of this.tree) {
      if (!isWithin(other, path)) continue
      taken.set(other.slice(path.length), kind)
      this.tree.delete(other)
    }
    return taken
  }

  #expectParent(path: string, type: string): void {
    const parent = path.slice(0, path.lastIndexOf('/'))
    if (this.roots.has(path) || this.roots.has(parent) || this.tree.has(parent)) return
    this.#complain(`${type} of ${path} before its directory`)
  }

  #complain(what: string): void {
    this.#complaints.push(what)
  }
}

// An entry that was gone before the look is told as a file, and may have been a link: an event only tells
// directories from other entries.
const isOther = (known: Kind, told: Kind) => (known === 'directory') !== (told === 'directory')

export interface Sight {
  recursive: boolean
  follow: boolean
  /** Names are kept by their bytes; else bytes that are not UTF-8 become U+FFFD. */
  bytes: boolean
  ignores(path: string): boolean
}

/** Returns if the root's path has a directory or a file to watch. */
export function isThere(root: string): boolean {
  const stats = statSync(root, { throwIfNoEntry: false })
  return stats?.isDirectory() === true || stats?.isFile() === true
}

/** Returns the entries of a root that a watcher can see now. */
export function reality(root: string, sight: Sight): Tree {
  const tree: Tree = new Map()
  const stats = statSync(root, { throwIfNoEntry: false })
  if (stats === undefined) return tree
  if (stats.isDirectory()) descend(bytesOf(root), root, [identity(stats)], sight, tree)
  else tree.set(root, kindOf(stats))
  return tree
}

function descend(
  directory: Buffer,
  path: string,
  above: string[],
  sight: Sight,
  tree: Tree,
  links = 0,
): void {
  for (const name of namesIn(directory)) {
    const bytes = Buffer.concat([directory, Buffer.from('/'), name])
    const entry = join(path, sight.bytes ? textOf(name) : name.toString())
    if (sight.ignores(entry)) continue
    const kind = kindOf(lstatSync(bytes))
    const below = directoryBelow(bytes, kind, sight)
    const beyond = kind === 'symlink' ? links + 1 : links
    // A link to a directory above itself leads round in a circle, and stays a link. The fourth link on a way
    // stays a link as well.
    const isFollowed = below !== undefined && !above.includes(below) && beyond <= 3
    tree.set(entry, isFollowed ? 'directory' : kind)
    if (isFollowed) descend(bytes, entry, [...above, below], sight, tree, beyond)
  }
}

/** Returns no names for a directory that may not be read. */
function namesIn(directory: Buffer): Buffer[] {
  return isReadable(directory) ? readdirSync(directory, 'buffer') : []
}

function isReadable(directory: Buffer): boolean {
  try {
    accessSync(directory, constants.R_OK | constants.X_OK)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EACCES'
  }
}

/** Returns the entries that can be known: leaves out those in directories that may not be read. */
export function knowable(tree: Tree): Tree {
  const closed = [...tree].filter(([path, kind]) => kind === 'directory' && !isReadable(bytesOf(path)))
  const isHidden = (path: string) => closed.some(([other]) => path !== other && isWithin(path, other))
  return new Map([...tree].filter(([path]) => !isHidden(path)))
}

function directoryBelow(path: Buffer, kind: Kind, { recursive, follow }: Sight): string | undefined {
  if (!recursive || !(kind === 'directory' || (kind === 'symlink' && follow))) return undefined
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats?.isDirectory() ? identity(stats) : undefined
}

const identity = ({ dev, ino }: Stats) => `${dev}:${ino}`

function kindOf(stats: Stats): Kind {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'other'
}
