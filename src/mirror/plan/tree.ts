import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import type { StatKey } from '../../mounts/syscalls/stat_watch.ts'
import { sameKey } from '../../volume/read_file.ts'

export interface SourceFile {
  readonly kind: 'file'
  readonly key: StatKey
}

/** A file of the target: `key` is that of the source's file when it was read, `digest` what it held. */
export interface TargetFile extends SourceFile {
  readonly digest: string
  placed?: Placed
}

export interface Link {
  readonly kind: 'link'
  readonly to: string
  placed?: Placed
}

/** Something is there, and this time it could not be looked at: not the same as "it is gone". */
export interface Unreadable {
  readonly kind: 'unreadable'
  readonly reason: string
  /** A single file that has become a link to what is not to be shown: nor may a link of the target lead there. */
  readonly linksOutside?: boolean
}

export interface Entries<Leaf> {
  readonly entries: ReadonlyMap<string, Leaf | Directory<Leaf>>
}

export interface Directory<Leaf> {
  readonly kind: 'directory'
  readonly key: StatKey
  readonly entries: Map<string, Leaf | Directory<Leaf>>
  placed?: Placed
}

export type SourceTree = Directory<SourceFile | Link | Unreadable>
export type SourceNode = SourceFile | Link | Unreadable | SourceTree

/** The content of the target, present or planned. `placed` is what the mirror has made of a node: present ones have it, and a file that is ready to be put in place. */
export type TargetTree = Directory<TargetFile | Link>
export type TargetNode = TargetFile | Link | TargetTree

/**
 * An entry of the source that is not in the target, or not in its present version. `path` is relative to the source, absolute if there are several; `reason` is a text for people. A path of `.` says how
 * many more there are than the hundred that are named.
 */
export interface Skipped {
  /** The path, relative to the source; absolute if there are several sources. */
  readonly path: string
  /** One sentence for people. */
  readonly reason: string
}

/** An entry that could not be copied. */
export interface Missing extends Skipped {
  /** True: the entry is being written, and can be copied at another moment. */
  readonly isPassing: boolean
}

/** Returns the key of a stat alone: a node lives as long as the mirror, and the whole stat takes twice the memory. */
export function statKey({ ino, mode, uid, gid, size, mtimeNs, ctimeNs, nlink }: StatKey): StatKey {
  return { ino, mode, uid, gid, size, mtimeNs, ctimeNs, nlink }
}

/** The part of a key that the mirror copies besides the content. */
export function sameAttributes(a: StatKey, b: StatKey): boolean {
  return a.mode === b.mode && a.uid === b.uid && a.gid === b.gid
}

/** Returns true if `target` was copied from `source` as it is now, stat key by stat key. */
export function isCopyOf(target: TargetNode, source: SourceNode): boolean {
  if (target.kind === 'file') return source.kind === 'file' && sameKey(target.key, source.key)
  if (target.kind === 'link') return source.kind === 'link' && target.to === source.to
  if (source.kind !== 'directory' || !sameAttributes(target.key, source.key)) return false
  return sameEntries(target.entries, source.entries, isCopyOf)
}

/** Returns true if a reader of names and bytes could not tell the two apart. */
export function sameContent(a: TargetNode, b: TargetNode): boolean {
  if (a.kind === 'file') return b.kind === 'file' && a.digest === b.digest
  if (a.kind === 'link') return b.kind === 'link' && a.to === b.to
  return b.kind === 'directory' && sameEntries(a.entries, b.entries, sameContent)
}

/** Returns the number of files and links that readers see: of the layout of a ConfigMap, its keys. */
export function countKeys({ entries }: TargetTree): number {
  let count = 0
  for (const [name, node] of entries) {
    if (entries.has('..data') && name.startsWith('..')) continue
    count += node.kind === 'directory' ? countKeys(node) : 1
  }
  return count
}

function sameEntries<A, B>(a: Map<string, A>, b: Map<string, B>, same: (a: A, b: B) => boolean): boolean {
  if (a.size !== b.size) return false
  for (const [name, node] of a) {
    const other = b.get(name)
    if (other === undefined || !same(node, other)) return false
  }
  return true
}

export function nodeAt<L extends { readonly kind: string }>(
  tree: Directory<L>,
  path: string,
): L | Directory<L> | undefined {
  let node: L | Directory<L> | undefined = tree
  for (const name of path.split('/'))
    node = node !== undefined && 'entries' in node ? node.entries.get(name) : undefined
  return node
}

/** All nodes beneath a directory, by path: a directory before what is in it. */
export function* nodesIn<L extends { readonly kind: string }>(
  { entries }: Entries<L>,
  prefix = '',
): Generator<readonly [path: string, node: L | Directory<L>]> {
  for (const [name, node] of entries) {
    yield [prefix + name, node]
    if (isDirectory(node)) yield* nodesIn(node, `${prefix}${name}/`)
  }
}

export function isDirectory<L extends { readonly kind: string }>(
  node: L | Directory<L>,
): node is Directory<L> {
  return node.kind === 'directory'
}

/** Returns a node, or of a directory the files and links beneath it. */
export function leavesOf(node: TargetNode): TargetNode[] {
  return node.kind === 'directory' ? [...node.entries.values()].flatMap(leavesOf) : [node]
}

/** Gives a tree other entries, in its place: whoever has it has them. */
export function replaceEntries(tree: TargetTree, entries: ReadonlyMap<string, TargetNode>): void {
  const now = [...entries]
  tree.entries.clear()
  for (const [name, node] of now) tree.entries.set(name, node)
}

/** The tree with what another has at some paths, and without what that has not. Neither is changed. */
export function withOld(next: TargetTree, had: TargetTree, paths: Iterable<string>): TargetTree {
  // A directory is copied once, however many of its entries are restored.
  const own = new Set<TargetTree>()
  const copy = (tree: TargetTree): TargetTree => {
    if (own.has(tree)) return tree
    const copied = { ...tree, entries: new Map(tree.entries) }
    own.add(copied)
    return copied
  }
  const restore = (
    tree: TargetTree,
    old: TargetTree | undefined,
    [name = '', ...rest]: readonly string[],
  ) => {
    const [now, before] = [tree.entries.get(name), old?.entries.get(name)]
    let node: TargetNode | undefined = before
    if (rest.length > 0 && now?.kind === 'directory') {
      const below = copy(now)
      restore(below, before?.kind === 'directory' ? before : undefined, rest)
      node = below
    }
    if (node === undefined) tree.entries.delete(name)
    else tree.entries.set(name, node)
  }
  const tree = copy(next)
  for (const path of paths) restore(tree, had, path.split('/'))
  return tree
}

/** Returns a text that tells an inode from a later one of the same number, which ext4 reuses at once: by its birth time, if the file system tells it. */
export function identityOf({ ino, btimeNs }: FileStat): string {
  return `${ino}:${btimeNs}`
}

/**
 * The inode that the mirror has made for an entry of the target. Another user who may write the target may have given the entry's name to
 * another: a chmod or a removal by name alone would hit that one.
 */
export class Placed {
  #stat: FileStat
  // False until the entry has been looked at in its place: rename(2) changes its ctime.
  #isSeen: boolean

  constructor(stat: FileStat, isSeen = false) {
    this.#stat = stat
    this.#isSeen = isSeen
  }

  get identity(): string {
    return identityOf(this.#stat)
  }

  /** Returns true for the very inode, and not a later one of its number. */
  isSame(stat: FileStat): boolean {
    const known = this.#stat
    if (known.dev !== stat.dev || known.ino !== stat.ino) return false
    // If the file system does not tell the birth time, or not yet, the number must do.
    return known.btimeNs === stat.btimeNs || known.btimeNs === 0n || stat.btimeNs === 0n
  }

  /** Returns true for the inode with unchanged content, owner and mode. */
  holds(stat: FileStat): boolean {
    const { mode, uid, gid, size, mtimeNs } = this.#stat
    if (!this.isSame(stat) || mode !== stat.mode || uid !== stat.uid || gid !== stat.gid) return false
    return stat.isDirectory() || (size === stat.size && mtimeNs === stat.mtimeNs)
  }

  /** Returns true if the entry is as the mirror made it; in a directory others may have made and removed entries since. */
  verify(stat: FileStat): boolean {
    if (!this.holds(stat)) return false
    if (this.#isSeen) return stat.isDirectory() || sameKey(this.#stat, stat)
    this.#stat = stat
    this.#isSeen = true
    return true
  }
}
