import { append, type Change, exchangesOf, type Source } from '../report/change.ts'
import type { Expansions } from '../report/expansions.ts'
import { LONGEST_PATH } from '../report/watch_error.ts'
import type { Entry } from '../scan/entry.ts'
import { eachBelow, exchangesBelow, renamesBelow } from './changes_below.ts'
import { Directory, isSymlink, type WatchedMount } from './directory.ts'
import type { Tree } from './tree.ts'

/** An entry, and where it is. */
export interface Located {
  readonly directory: Directory
  readonly name: string
  readonly entry: Entry
}

/**
 * The one way to change what is believed of names, and each change is told as it is made: so what was told always leads to what is believed. It
 * owns the changes that are still to be reported, and knows nothing of how they were found out.
 */
export class TreeEditor {
  readonly #tree: Tree
  readonly #source: Source
  readonly #isSilent: boolean
  #changes: Change[] = []
  // The path that was made last: events come in runs, of a directory and of a name.
  #directory: Directory | undefined
  #prefix = ''
  #name = ''
  #path = ''

  /** @param isSilent nothing is told: what is found is what there was when watching began */
  constructor(tree: Tree, source: Source, isSilent = false) {
    this.#tree = tree
    this.#source = source
    this.#isSilent = isSilent
  }

  /** What has been changed since the last time. */
  take(): Change[] {
    const changes = this.#changes
    this.#changes = []
    this.#directory = undefined
    return changes
  }

  /** As the tree is at this moment. */
  pathOf(directory: Directory, name: string): string {
    const prefix = this.#prefixOf(directory)
    if (name !== this.#name) {
      this.#name = name
      this.#path = prefix + name
    }
    return this.#path
  }

  /** The topmost directory whose path is longer than one is gone into, if it is this or one that this lies in. */
  beyondDepth(directory: Directory): Directory | undefined {
    let over = this.#prefixOf(directory).length - 1 - LONGEST_PATH
    if (over <= 0) return undefined
    let top = directory
    for (; over > top.name.length + 1 && top.parent !== undefined; top = top.parent)
      over -= top.name.length + 1
    return top
  }

  /** What is no directory, or none that is gone into. The name must be free. */
  create(directory: Directory, name: string, entry: Entry, mask = 0): void {
    if (entry.kind === 'directory') this.#makeWay(directory, name)
    this.update(directory, name, entry)
    this.#tell('create', directory, name, entry, mask)
  }

  /** A directory that is still to be listed. The name must be free. */
  createDirectory(parent: Directory, name: string, ino: number, mount: WatchedMount, mask = 0): Directory {
    this.#makeWay(parent, name)
    const created = this.#tree.add(parent, name, ino, mount)
    this.#tell('create', parent, name, created, mask)
    return created
  }

  /** What has this name is known to be a directory, and is gone into from now on: it is still to be listed, and nothing is told. */
  goInto(parent: Directory, name: string, mount: WatchedMount): Directory {
    this.#makeWay(parent, name)
    this.#tree.editableEntriesOf(parent).delete(name)
    return this.#tree.add(parent, name, 0, mount)
  }

  /** What is in a directory is to be told from now on, which it was not before. */
  enter(directory: Directory): void {
    const { parent, name } = directory
    if (parent !== undefined) this.#makeWay(parent, name)
  }

  delete(at: Located, mask = 0): void {
    this.remove(at, mask)
    if (at.entry instanceof Directory) this.#tree.drop(at.entry)
  }

  /** The same, of what is still to be {@link place}d elsewhere, or has something in it that is. */
  remove(at: Located, mask = 0): void {
    const { directory, name, entry } = at
    // Or a root lies behind a link of this name.
    if (entry.kind === 'directory' || isSymlink(entry)) this.#makeWay(directory, name)
    this.#noteGone(directory, name, entry)
    this.#tellDelete(directory, name, entry, mask)
    this.takeOut(at)
    this.#directory = undefined
  }

  /** What lies in something that has been told to be gone leaves it. */
  takeOut({ directory, name, entry }: Located): void {
    directory.mount.allow(directory, name)
    if (entry instanceof Directory) this.#tree.detach(entry)
    else this.#tree.editableEntriesOf(directory).delete(name)
  }

  /** A directory that lies in none, with all that is believed to be in it. The name must be free. */
  place(parent: Directory, name: string, directory: Directory): void {
    this.#makeWay(parent, name)
    this.#put(parent, name, directory)
    this.#tell('create', parent, name, directory, 0)
    if (this.#isSilent || directory.isEmpty) return
    for (const change of eachBelow('create', directory, this.pathOf(parent, name), this.#source))
      this.#add(change)
  }

  /** Something else is known of what has this name; nothing is told. */
  update(directory: Directory, name: string, entry: Entry): void {
    this.#tree.editableEntriesOf(directory).set(name, entry)
  }

  /** What has this name was written, replaced by another of its kind, or is otherwise than it was. */
  alter(type: 'modify' | 'attrib', directory: Directory, name: string, entry: Entry, mask = 0): void {
    // A symlink cannot be written.
    if (type === 'modify') this.#noteGone(directory, name, entry)
    this.#tell(type, directory, name, entry, mask)
  }

  /**
   * What has the name that it goes to is gone, as rename(2) has it, and told to be deleted before if it is of another kind.
   *
   * @param as what it is from now on
   */
  rename(from: Located, directory: Directory, name: string, as: Entry, mask = 0): void {
    if (as.kind === 'directory') {
      this.#makeWay(from.directory, from.name)
      this.#makeWay(directory, name)
    }
    const before = this.#tree.entriesOf(directory).get(name)
    // One of the two is a link, and the other the directory that a link leads to: a change that says one kind cannot speak for both.
    const isOther = before !== undefined && (before.kind === 'directory') !== (as.kind === 'directory')
    if (isOther) this.delete({ directory, name, entry: before }, mask)
    const known = isOther ? undefined : before
    // What takes a link's place may be one that nobody has seen to be one yet.
    const isLink = isSymlink(from.entry) || isSymlink(as) || (known !== undefined && isSymlink(known))
    const [oldPath, path] = this.#isSilent
      ? ['', '']
      : [this.pathOf(from.directory, from.name), this.pathOf(directory, name)]
    const { kind } = as
    const change = {
      type: 'rename',
      from: oldPath,
      path,
      replaced: known !== undefined,
      kind,
      mask,
      source: this.#source,
    } as const
    this.#expansions?.note(change, renamesBelow(from.entry, known, oldPath, path, this.#source))
    this.takeOut(from)
    if (known !== undefined) this.#forget(directory, name, known)
    this.#put(directory, name, as)
    if (isLink) this.#tree.movedLinks.push([{ from, to: { directory, name } }])
    this.#add(change)
  }

  /** Two change places, each with all below it. `as`: what they are from now on. */
  exchange(one: Located, other: Located, as: readonly [Entry, Entry], mask = 0): void {
    if (as.some(({ kind }) => kind === 'directory')) {
      for (const each of [one, other]) this.#makeWay(each.directory, each.name)
    }
    const path = this.pathOf(other.directory, other.name)
    const otherPath = this.pathOf(one.directory, one.name)
    const [{ kind }, { kind: otherKind }] = as
    const change = {
      type: 'exchange',
      path,
      other: otherPath,
      kind,
      otherKind,
      mask,
      source: this.#source,
    } as const
    this.#expansions?.note(change, exchangesBelow(other.entry, one.entry, path, otherPath, this.#source))
    this.takeOut(one)
    this.takeOut(other)
    this.#put(other.directory, other.name, as[0])
    this.#put(one.directory, one.name, as[1])
    this.#noteMoved([
      { from: one, to: other, entry: as[0] },
      { from: other, to: one, entry: as[1] },
    ])
    this.#add(change)
  }

  /** Each gets the place of the next, the last that of the first: see {@link exchangesOf}. */
  rotate(circle: ReadonlyArray<Located & { as: Entry }>): void {
    if (circle.some(({ as }) => as.kind === 'directory')) {
      for (const { directory, name } of circle) this.#makeWay(directory, name)
    }
    const paths = circle.map(({ directory, name }) => this.pathOf(directory, name))
    const kinds = circle.map(({ as }) => as.kind)
    const changes = exchangesOf(paths, kinds, this.#source)
    const at = new Map(circle.map(({ entry }, i) => [paths[i] as string, entry]))
    for (const change of changes) {
      const { path, other } = change
      const [here, there] = [at.get(path) as Entry, at.get(other) as Entry]
      this.#expansions?.note(change, exchangesBelow(here, there, path, other, this.#source))
      at.set(path, there).set(other, here)
    }
    const placed = circle.map(({ as }, i): Located => {
      const { directory, name } = circle[(i + 1) % circle.length] as Located
      return { directory, name, entry: as }
    })
    for (const each of circle) this.takeOut(each)
    for (const { directory, name, entry } of placed) this.#put(directory, name, entry)
    this.#noteMoved(circle.map((from, i) => ({ from, to: placed[i] as Located, entry: from.as })))
    for (const change of changes) this.#add(change)
  }

  /** The paths of what is in it begin like this. */
  #prefixOf(directory: Directory): string {
    if (directory !== this.#directory) {
      this.#directory = directory
      this.#prefix = this.#tree.pathOf(directory, '')
      this.#name = ''
      this.#path = this.#prefix
    }
    return this.#prefix
  }

  /**
   * A directory is about to come to a path, or to leave it. What trees of other roots have told of names at or below the path is told to be gone first: the
   * names of what comes would be taken, and what leaves would take along what is not in it.
   */
  #makeWay(directory: Directory, name: string): void {
    if (this.#isSilent || !this.#tree.hasSeveralTops) return
    for (const top of this.#tree.topsAtOrBelow(this.pathOf(directory, name))) {
      for (const [each, entry] of this.#tree.entriesOf(top)) this.#tellDelete(top, each, entry, 0)
      this.#tree.vacate(top)
    }
  }

  #put(directory: Directory, name: string, entry: Entry): void {
    if (entry instanceof Directory) this.#tree.attach(entry, directory, name)
    else this.#tree.editableEntriesOf(directory).set(name, entry)
    // It may have been above what comes next.
    this.#directory = undefined
  }

  /** `entry`: what it is from now on, which may be known to be a link by now. */
  #noteMoved(moved: ReadonlyArray<{ from: Located; to: Located; entry: Entry }>): void {
    const links = moved.filter(({ from, entry }) => isSymlink(from.entry) || isSymlink(entry))
    if (links.length > 0) this.#tree.movedLinks.push(links)
  }

  #noteGone(directory: Directory, name: string, entry: Entry): void {
    if (isSymlink(entry)) this.#tree.movedLinks.push([{ from: { directory, name }, to: undefined }])
  }

  #forget(directory: Directory, name: string, entry: Entry): void {
    directory.mount.allow(directory, name)
    if (entry instanceof Directory) this.#tree.drop(entry)
    else this.#tree.editableEntriesOf(directory).delete(name)
    this.#directory = undefined
  }

  #tellDelete(directory: Directory, name: string, entry: Entry, mask: number): void {
    if (this.#isSilent) return
    const { kind } = entry
    const path = this.pathOf(directory, name)
    const change = { type: 'delete', path, kind, mask, source: this.#source } as const
    this.#expansions?.note(change, eachBelow('delete', entry, path, this.#source))
    this.#add(change)
  }

  #tell(
    type: 'create' | 'modify' | 'attrib',
    directory: Directory,
    name: string,
    { kind }: Entry,
    mask: number,
  ): void {
    if (this.#isSilent) return
    this.#add({ type, path: this.pathOf(directory, name), kind, mask, source: this.#source })
  }

  /** To be told what a change speaks for, before that is otherwise. */
  get #expansions(): Expansions | undefined {
    return this.#isSilent ? undefined : this.#tree.expansions
  }

  #add(change: Change): void {
    if (!this.#isSilent) append(this.#changes, change)
  }
}
