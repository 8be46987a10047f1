import { basename, dirname } from 'node:path'
import type { Entry, Kind } from '../report/change.ts'
import type { Root } from '../roots/root.ts'
import { Directory } from '../tree/directory.ts'
import type { EngineContext } from './context.ts'

/** The entry at a path: a directory whose entries are known, or another entry. */
type Found = Directory | { kind: Kind }

/** The entries at the roots and below them, as they have been told. It reads the trees, and changes nothing. */
export class Believed {
  readonly #context: EngineContext

  constructor(context: EngineContext) {
    this.#context = context
  }

  /**
   * Returns true if there is an entry at a path. Unpacks directories, as a look at a name does: a caller may ask for many of 100,000 entries.
   *
   * @param path a key, as all paths here: see name_key.ts
   */
  has(path: string): boolean {
    const { queue, tree } = this.#context
    const found = this.#find(path)
    // While nothing happens there is no task after which directories are packed again.
    if (!queue.isBusy) tree.trim()
    return found !== undefined
  }

  /** Yields the entry at a path, and all entries below it; parents first. */
  *at(path: string): Generator<Entry> {
    const found = this.#find(path)
    if (found === undefined) return
    yield { path, kind: found.kind }
    if (found instanceof Directory) yield* this.#below(found)
  }

  /** Yields all entries, each path once; parents first, in whatever order the roots were given. */
  *all(): Generator<Entry> {
    for (const root of [...this.#context.byPath.values()].sort((a, b) => a.path.length - b.path.length)) {
      const own = ownOf(root)
      if (own === undefined) continue
      // A root may lie within another root's tree, and not be an entry of that: behind a symlink, or as a file.
      if (this.#findBelow(root.path) === undefined) yield { path: root.path, kind: own.kind }
      if (own instanceof Directory) yield* this.#below(own)
    }
  }

  /** Yields the entries below a root as they were when it was lost; parents first. */
  *belowLost(path: string): Generator<Entry> {
    const root = this.#context.byPath.get(path)
    if (root?.isPresent === false && root.top !== undefined) yield* this.#below(root.top, true)
  }

  /** Returns the entry at a path, from the tree that tells of it. */
  #find(path: string): Found | undefined {
    const root = this.#context.byPath.get(path)
    return (root && ownOf(root)) ?? this.#findBelow(path)
  }

  /** Returns the entry from the nearest root above it in whose tree it is. */
  #findBelow(path: string): Found | undefined {
    const names: string[] = []
    for (let each = path; each !== '/'; ) {
      names.unshift(basename(each))
      each = dirname(each)
      const root = this.#context.byPath.get(each)
      const top = root && ownOf(root)
      const parent = top instanceof Directory ? this.#context.tree.find(top, names.slice(0, -1)) : undefined
      const found = parent && this.#context.tree.entriesOf(parent).get(basename(path))
      if (found !== undefined) return found
    }
    return undefined
  }

  /** Yields the entries below. Changes may come between two of them: entries that have gone by then are left out, new ones may be. */
  *#below(top: Directory, isLost = false): Generator<Entry> {
    const pending = [top]
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (!isLost && !this.#context.tree.isPresent(next)) continue
      for (const [name, entry] of [...next.peek()]) {
        if (entry instanceof Directory) pending.push(entry)
        yield { path: this.#context.tree.pathOf(next, name), kind: entry.kind }
      }
    }
  }
}

/** Returns the entry that a root tells of itself; undefined: the root is lost, or lies in the tree of another. */
function ownOf({ isPresent, coverer, file, top }: Root): Found | undefined {
  return isPresent && coverer === undefined ? (file ?? top) : undefined
}
