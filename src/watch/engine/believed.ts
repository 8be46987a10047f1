import { basename, dirname } from 'node:path'
import type { TaskQueue } from '../../task_queue.ts'
import type { Kind } from '../report/change.ts'
import type { Entry as ShownEntry } from '../report/entry.ts'
import type { Stat } from '../report/stat.ts'
import type { FollowedLinks } from '../roots/links/followed_links.ts'
import type { Root } from '../roots/root.ts'
import type { Entry } from '../scan/entry.ts'
import { Directory, isSymlink } from '../tree/directory.ts'
import { type ShownStats, shownStat } from '../tree/shown_stats.ts'
import type { Tree } from '../tree/tree.ts'

/** What is at a path: a root, with a name in no directory, or an entry of a directory. */
export type Place =
  | { root: Root; name: undefined; entry: RootEntry }
  | { directory: Directory; name: string; entry: Entry }

/** What a root tells of itself: a directory whose entries are known, or a file. */
type RootEntry = Directory | { kind: Kind }

/** What is believed to be at the roots and below them, as it has been told. It reads the trees, and changes nothing. */
export class Believed {
  readonly #tree: Tree
  readonly #byPath: ReadonlyMap<string, Root>
  readonly #links: Pick<FollowedLinks, 'endAt'>
  readonly #queue: TaskQueue
  #isTidying = false

  /** @param queue after each of whose tasks the tree is trimmed */
  constructor(
    tree: Tree,
    byPath: ReadonlyMap<string, Root>,
    links: Pick<FollowedLinks, 'endAt'>,
    queue: TaskQueue,
  ) {
    this.#tree = tree
    this.#links = links
    this.#byPath = byPath
    this.#queue = queue
  }

  /**
   * Directories are used for it, as by whoever looks at a name: of one of 100,000 entries many may be asked for.
   *
   * @param path a key, as all paths here: see name_key.ts
   */
  has(path: string): boolean {
    const place = this.locate(path)
    if (this.#tree.isCrowded) this.#tidy()
    return place !== undefined
  }

  /** While nothing happens no other task has it packed again. */
  #tidy(): void {
    if (this.#isTidying) return
    this.#isTidying = true
    void this.#queue.run(async () => {
      this.#isTidying = false
    })
  }

  /** What is at a path, and all below it; parents first. */
  *at(path: string): Generator<ShownEntry> {
    const place = this.locate(path)
    if (place === undefined) return
    yield shownAs(path, place.entry.kind, this.statAt(place))
    if (place.entry instanceof Directory) yield* this.#below(place.entry)
  }

  /** All of it, each path once. */
  *all(): Generator<ShownEntry> {
    for (const root of [...this.#byPath.values()]) {
      const entry = ownOf(root)
      if (entry === undefined) continue
      // A root within another one's tree, as it lies behind a symlink or is a file.
      const isKnown = this.#locateBelow(root.path) !== undefined
      if (!isKnown) yield shownAs(root.path, entry.kind, this.statAt({ root, name: undefined, entry }))
      if (entry instanceof Directory) yield* this.#below(entry)
    }
  }

  /** What was believed to be below a root when it was lost; parents first. */
  *belowLost(path: string): Generator<ShownEntry> {
    const root = this.#byPath.get(path)
    if (root?.isPresent === false && root.top !== undefined) yield* this.#below(root.top, true)
  }

  /** What is at a path, in the tree that tells of it. */
  locate(path: string): Place | undefined {
    const root = this.#byPath.get(path)
    const entry = root && ownOf(root)
    if (root !== undefined && entry !== undefined) return { root, name: undefined, entry }
    return this.#locateBelow(path)
  }

  /** What is shown of it, with `stat: true`. */
  statAt(place: Place): Stat | undefined {
    const { shown } = this.#tree
    if (shown === undefined) return undefined
    if (place.name !== undefined) return this.#statOf(shown, place.directory, place.name, place.entry)
    const { root, entry } = place
    return entry instanceof Directory ? shown.ofTop(entry) : root.file?.stat
  }

  /** Of a link that is followed, of what it leads to. */
  #statOf(shown: ShownStats, directory: Directory, name: string, entry: Entry): Stat | undefined {
    const end = isSymlink(entry) ? this.#links.endAt(directory, name) : undefined
    return end?.stat === undefined ? shown.get(directory, name, entry) : shownStat(end, end.stat)
  }

  /** Of the nearest root above it in whose tree it is. */
  #locateBelow(path: string): Place | undefined {
    const names: string[] = []
    for (let each = path; each !== '/'; ) {
      names.unshift(basename(each))
      each = dirname(each)
      const root = this.#byPath.get(each)
      const top = root && ownOf(root)
      const place = top instanceof Directory ? this.#lookUp(top, names) : undefined
      if (place !== undefined) return place
    }
    return undefined
  }

  #lookUp(top: Directory, names: readonly string[]): Place | undefined {
    let place: Place | undefined
    let above: Entry = top
    for (const name of names) {
      const directory: Entry = above
      const entry = directory instanceof Directory ? this.#tree.entriesOf(directory).get(name) : undefined
      if (!(directory instanceof Directory) || entry === undefined) return undefined
      place = { directory, name, entry }
      above = entry
    }
    return place
  }

  /** Who takes them one by one may let things happen in between: what has gone by then is left out, and what has come may be. */
  *#below(top: Directory, isLost = false): Generator<ShownEntry> {
    const pending = [top]
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (!isLost && !this.#tree.isPresent(next)) continue
      for (const [name, entry] of [...this.#tree.peek(next)]) {
        if (entry instanceof Directory) pending.push(entry)
        const { shown } = this.#tree
        const stat = shown && this.#statOf(shown, next, name, entry)
        yield shownAs(this.#tree.pathOf(next, name), entry.kind, stat)
      }
    }
  }
}

function shownAs(path: string, kind: Kind, stat: Stat | undefined): ShownEntry {
  return stat === undefined ? { path, kind } : { path, kind, stat }
}

/** What a root tells of itself; undefined: it is lost, or lies in the tree of another. */
function ownOf({ isPresent, coverer, file, top }: Root): RootEntry | undefined {
  return isPresent && coverer === undefined ? (file ?? top) : undefined
}
