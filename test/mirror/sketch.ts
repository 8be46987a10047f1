import type { TargetFile, TargetNode, TargetTree } from '../../src/mirror/plan/tree.ts'
import type { StatKey } from '../../src/mounts/syscalls/stat_watch.ts'

/** The stat of every node of a sketch. */
export const KEY: StatKey = {
  ino: 1n,
  mode: 0o100644n,
  uid: 0n,
  gid: 0n,
  size: 1n,
  mtimeNs: 1n,
  ctimeNs: 1n,
  nlink: 1n,
}

/** A tree in short: a string is a link's text, an object a directory, a file() a file. */
export interface Sketch {
  [name: string]: string | TargetFile | Sketch
}

export function file(digest: string, key: Partial<StatKey> = {}): TargetFile {
  return { kind: 'file', digest, key: { ...KEY, ...key } }
}

export function tree(sketch: Sketch): TargetTree {
  const node = (entry: string | TargetFile | Sketch): TargetNode => {
    if (typeof entry === 'string') return { kind: 'link', to: entry }
    return isFile(entry) ? entry : tree(entry)
  }
  const entries = Object.entries(sketch).map(([name, entry]): [string, TargetNode] => [name, node(entry)])
  return { kind: 'directory', key: KEY, entries: new Map(entries) }
}

function isFile(entry: TargetFile | Sketch): entry is TargetFile {
  return entry.kind === 'file'
}
