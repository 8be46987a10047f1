import { posix } from 'node:path'
import { MAX_LINKS } from '../../mounts/syscalls/max_links.ts'
import {
  type Directory,
  type Entries,
  isDirectory,
  nodeAt,
  nodesIn,
  sameContent,
  type TargetTree,
  withOld,
} from './tree.ts'

/** Facts about a source's links that its tree does not hold. Paths are relative to the target. */
export interface Doubts {
  /** Entries that the source has and could not give, and of which the target has no older version; links that changed during the scan. */
  readonly wanting: ReadonlySet<string>
  /** Links that surely lead nowhere in the source either. */
  readonly nowhere: ReadonlySet<string>
}

export const NO_DOUBTS: Doubts = { wanting: new Set(), nowhere: new Set() }

/** Any node, of a source or of the target. */
type Node = { readonly kind: string; readonly to?: string }

/** The way of a reader who opens a path. */
interface Way<N> {
  /** The links on it, by their paths. */
  readonly links: readonly string[]
  /** The last name of the way, or the first that is not there. */
  readonly end: string
  /** undefined if there is nothing. A link that leads out of the tree is an end. */
  readonly node: N | undefined
}

/**
 * Returns the tree that the target shall have, so that no reader loses an entry that old and new version both have: before a link is
 * redirected or an entry goes, what readers reach by it is there. Else the old stays, with all that leads to it and is behind it. So does the
 * `..data` of a ConfigMap, with all keys, as any link.
 */
export function keepReached(had: TargetTree, next: TargetTree, doubts: readonly Doubts[]): TargetTree {
  const wanting = new Set(doubts.flatMap((each) => [...each.wanting]))
  const nowhere = new Set(doubts.flatMap((each) => [...each.nowhere]))
  const isHad = (path: string) => follow(had, path).node !== undefined
  const isRedirected = (path: string) => {
    const node = nodeAt(next, path)
    return node?.kind !== 'link' || !sameContent(node, nodeAt(had, path) ?? node)
  }
  const isCut = (tree: TargetTree, path: string): boolean => {
    const { links, end, node } = follow(tree, path)
    if (wanting.has(path) && isHad(path)) return true
    if (node === undefined) {
      const isLed = links.some((each) => each !== path && wanting.has(each))
      return isLed || isOf(wanting, end) || (!nowhere.has(path) && isHad(path))
    }
    if (node.kind !== 'directory') return false
    for (const each of wanting) {
      if (!each.startsWith(`${end}/`) || follow(tree, each).node !== undefined) continue
      if (isHad(path + each.slice(end.length))) return true
    }
    return false
  }
  const seen = new Set<string>()
  for (let tree = next; ; ) {
    const cut = linksIn(tree).filter((path) => !seen.has(path) && isCut(tree, path))
    if (cut.length === 0) return tree
    const old: string[] = []
    for (const path of cut) {
      seen.add(path)
      const { links, end, node } = follow(had, path)
      // Entries that lead over these links wait as well.
      for (const each of [path, ...links.filter(isRedirected)]) wanting.add(each)
      // A new link: no reader uses it yet. It waits for its end.
      old.push(...(node === undefined ? [path] : [path, ...links, end]))
    }
    // A version stays whole: what led over a link that stays goes when that goes on.
    for (const path of linksIn(had))
      if (nodeAt(next, path) === undefined && follow(had, path).links.some((each) => seen.has(each)))
        old.push(path)
    tree = withOld(tree, had, old)
  }
}

/**
 * As {@link keepReached}, where some of what was to be put in place could not be.
 *
 * @param failed its paths
 */
export function keepWithout(
  had: TargetTree,
  next: TargetTree,
  failed: Iterable<string>,
  doubts: readonly Doubts[],
): TargetTree {
  const wanting = new Set(failed)
  return keepReached(had, withOld(next, had, wanting), [...doubts, { ...NO_DOUBTS, wanting }])
}

/** The links that lead to nothing, by path. */
export function danglingLinks<L extends Node>(tree: Directory<L>): string[] {
  return linksIn(tree).filter((path) => follow(tree, path).node === undefined)
}

/** Follows a path, whatever links are on it and at its end. */
export function follow<L extends Node>(tree: Directory<L>, path: string): Way<L | Directory<L>> {
  const links: string[] = []
  let way = path
  walk: for (;;) {
    const parts = way.split('/').filter((part) => part !== '' && part !== '.')
    let node: L | Directory<L> = tree
    for (const [index, part] of parts.entries()) {
      const at = parts.slice(0, index + 1).join('/')
      const next: L | Directory<L> | undefined = isDirectory(node) ? node.entries.get(part) : undefined
      if (next === undefined) return { links, end: at, node: undefined }
      if (next.kind === 'link' && 'to' in next && next.to !== undefined) {
        if (links.length === MAX_LINKS) return { links, end: at, node: undefined }
        links.push(at)
        if (posix.isAbsolute(next.to)) return { links, end: at, node: next }
        way = posix.join(posix.dirname(at), next.to, ...parts.slice(index + 1))
        continue walk
      }
      node = next
    }
    return { links, end: parts.join('/'), node }
  }
}

/** All links, by path. */
export function linksIn<L extends Node>(tree: Entries<L>): string[] {
  return [...nodesIn(tree)].flatMap(([path, { kind }]) => (kind === 'link' ? [path] : []))
}

/** Returns true if a path, or a directory above it, is among them. */
function isOf(paths: ReadonlySet<string>, path: string): boolean {
  for (let at = path; at !== '.'; at = posix.dirname(at)) if (paths.has(at)) return true
  return false
}
