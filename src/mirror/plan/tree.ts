import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import type { StatKey } from '../../mounts/syscalls/stat_watch.ts'

export interface SourceFile {
  readonly kind: 'file'
  readonly key: StatKey
}

/** A file of the target: `key` is that of the source's file when it was read, `digest` what it held. */
export interface TargetFile extends SourceFile {
  readonly digest: string
}

export interface Link {
  readonly kind: 'link'
  readonly to: string
}

/** Something is there, and this time it could not be looked at: not the same as "it is gone". */
export interface Unreadable {
  readonly kind: 'unreadable'
  readonly reason: string
  /** A single file that has become a link to what is not to be shown: nor may a link of the target lead there. */
  readonly linksOutside?: boolean
}

export interface Directory<Leaf> {
  readonly kind: 'directory'
  readonly key: StatKey
  readonly entries: Map<string, Leaf | Directory<Leaf>>
}

export type SourceTree = Directory<SourceFile | Link | Unreadable>
export type SourceNode = SourceFile | Link | Unreadable | SourceTree

/** What the target holds, or shall hold. */
export type TargetTree = Directory<TargetFile | Link>
export type TargetNode = TargetFile | Link | TargetTree

/** An entry of the source that is not in the target, or not in its present version. `path` is relative to the source. */
export interface Skipped {
  readonly path: string
  readonly reason: string
}

export function statKey(stat: FileStat): StatKey {
  const { ino, mode, uid, gid, size, mtimeNs, ctimeNs, nlink } = stat
  return { ino, mode, uid, gid, size, mtimeNs, ctimeNs, nlink }
}

export function sameKey(a: StatKey, b: StatKey): boolean {
  return (
    sameAttributes(a, b) &&
    a.ino === b.ino &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs &&
    a.nlink === b.nlink
  )
}

/** The part of a key that the mirror copies besides the content. */
export function sameAttributes(a: StatKey, b: StatKey): boolean {
  return a.mode === b.mode && a.uid === b.uid && a.gid === b.gid
}

/** Whether `source` is, stat key by stat key, what `target` was copied from. */
export function isCopyOf(target: TargetNode, source: SourceNode): boolean {
  if (target.kind === 'file') return source.kind === 'file' && sameKey(target.key, source.key)
  if (target.kind === 'link') return source.kind === 'link' && target.to === source.to
  if (source.kind !== 'directory' || !sameAttributes(target.key, source.key)) return false
  return sameEntries(target.entries, source.entries, isCopyOf)
}

/** Whether a reader of names and bytes could not tell the two apart. */
export function sameContent(a: TargetNode, b: TargetNode): boolean {
  if (a.kind === 'file') return b.kind === 'file' && a.digest === b.digest
  if (a.kind === 'link') return b.kind === 'link' && a.to === b.to
  return b.kind === 'directory' && sameEntries(a.entries, b.entries, sameContent)
}

function sameEntries<A, B>(a: Map<string, A>, b: Map<string, B>, same: (a: A, b: B) => boolean): boolean {
  if (a.size !== b.size) return false
  for (const [name, node] of a) {
    const other = b.get(name)
    if (other === undefined || !same(node, other)) return false
  }
  return true
}

export function nodeAt(tree: TargetTree, path: string): TargetNode | undefined {
  let node: TargetNode | undefined = tree
  for (const name of path.split('/')) node = node?.kind === 'directory' ? node.entries.get(name) : undefined
  return node
}

/** Gives a tree other entries, in its place: whoever has it has them. */
export function replaceEntries(tree: TargetTree, entries: ReadonlyMap<string, TargetNode>): void {
  const now = [...entries]
  tree.entries.clear()
  for (const [name, node] of now) tree.entries.set(name, node)
}

/** The tree without what is at a path. What is below its first level it shares with what the sources gave, which stays as it is. */
export function without(tree: TargetTree, [name = '', ...rest]: readonly string[]): TargetTree {
  const entries = new Map(tree.entries)
  const child = entries.get(name)
  if (rest.length === 0) entries.delete(name)
  else if (child?.kind === 'directory') entries.set(name, without(child, rest))
  return { ...tree, entries }
}
