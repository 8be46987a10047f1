import { append, type Change, type EntryChange, exchangesOf, type Source } from '../report/change.ts'
import type { Expansions } from '../report/expansions.ts'
import { LONGEST_PATH } from '../report/watch_error.ts'
import type { Entry } from '../scan/entry.ts'
import { eachBelow, exchangesBelow, renamesBelow } from './changes_below.ts'
import { Directory, isSymlink } from './directory.ts'
import type { Tree } from './tree.ts'

/** An entry, and where it is. */
export interface Located {
  readonly directory: Directory
  readonly name: string
  readonly entry: Entry
}

/**
 * The only way to change what is believed of names. Each change is told as it is made, so what was told always leads
 * to what is believed. It owns the changes that are still to be reported, and does not know how they were found out.
 */
export class TreeEditor {
  readonly #tree: Tree
  readonly #source: Source
  readonly #isSilent: boolean
  #changes: Change[] = []
  // The path made last: events come in runs, of one directory and of one name.
  #directory: Directory | undefined
  #prefix = ''
  #name = ''
  #path = ''

  /** @param isSilent true: nothing is told, as the walk finds what was there when watching began */
  constructor(tree: Tree, source: Source, isSilent = false) {
    this.#tree = tree
    this.#source = source
    this.#isSilent = isSilent
  }

  /** Returns the changes made since the last call. */
  take(): Change[] {
    const changes = this.#changes
    this.#changes = []
    this.#directory = undefined
    return changes
  }

  /** Returns the path that the tree gives the name at this moment. */
  pathOf(directory: Directory, name: string): string {
    const prefix = this.#prefixOf(directory)
    if (name !== this.#name) {
      this.#name = name
      this.#path = prefix + name
    }
    return this.#path
  }

  /** Returns the topmost directory, of this one and those above it, whose path is too long to be gone into; undefined: none is. */
  beyondDepth(directory: Directory): Directory | undefined {
    let over = this.#prefixOf(directory).length - 1 - LONGEST_PATH
    if (over <= 0) return undefined
    let top = directory
    for (; over > top.name.length + 1 && top.parent !== undefined; top = top.parent)
      over -= top.name.length + 1
    return top
  }

  /** Adds an entry that is no directory, or a directory that is not gone into. The name must be free. */
  create(directory: Directory, name: string, entry: Entry, mask = 0): void {
    if (entry.kind === 'directory') this.#makeWay(directory, name)
    this.update(directory, name, entry)
    this.#tell('create', directory, name, entry, mask)
  }

  /** Adds a directory that is still to be listed. The name must be free. */
  createDirectory(parent: Directory, name: string, mask: number): Directory {
    this.#makeWay(parent, name)
    const created = this.#tree.add(parent, name, 0, parent.mount)
    this.#tell('create', parent, name, created, mask)
    return created
  }

  /** Makes way for a directory whose entries are told from now on, and were not before. */
  enter(directory: Directory): void {
    const { parent, name } = directory
    if (parent !== undefined) this.#makeWay(parent, name)
  }

  delete(at: Located, mask = 0): void {
    this.remove(at, mask)
    if (at.entry instanceof Directory) this.#tree.drop(at.entry)
  }

  /** Does as {@link delete}, but keeps a directory that is still to be {@link place}d elsewhere, or holds such a one. */
  remove(at: Located, mask = 0): void {
    const { directory, name, entry } = at
    // A root may lie behind a link of this name.
    if (entry.kind === 'directory' || isSymlink(entry)) this.#makeWay(directory, name)
    this.#noteGone(directory, name, entry)
    this.#tell('delete', directory, name, entry, mask)
    this.takeOut(at)
    this.#directory = undefined
  }

  /** Takes an entry out of its directory, and tells nothing. */
  takeOut({ directory, name, entry }: Located): void {
    directory.mount.refused.take(directory, name)
    if (entry instanceof Directory) this.#tree.detach(entry)
    else this.#tree.editableEntriesOf(directory).delete(name)
  }

  /** Places a directory that is in no parent, with all that is believed to be in it. The name must be free. */
  place(parent: Directory, name: string, directory: Directory): void {
    this.#makeWay(parent, name)
    this.#put(parent, name, directory)
    this.#tell('create', parent, name, directory, 0)
    if (this.#isSilent || directory.isEmpty) return
    for (const change of eachBelow('create', directory, this.pathOf(parent, name), this.#source))
      this.#add(change)
  }

  /** Replaces what is known of the entry with this name; nothing is told. */
  update(directory: Directory, name: string, entry: Entry): void {
    this.#tree.editableEntriesOf(directory).set(name, entry)
  }

  /** Tells that the entry was written, replaced by another of its kind, or has other attributes. */
  alter(type: 'modify' | 'attrib', directory: Directory, name: string, entry: Entry, mask = 0): void {
    // A symlink cannot be written.
    if (type === 'modify') this.#noteGone(directory, name, entry)
    this.#tell(type, directory, name, entry, mask)
  }

  /**
   * Moves an entry to a name. An entry that has the name is gone, as rename(2) has it; its delete is told first if it is of another kind.
   *
   * @param as the entry from now on
   */
  rename(from: Located, directory: Directory, name: string, as: Entry, mask = 0): void {
    if (as.kind === 'directory') {
      this.#makeWay(from.directory, from.name)
      this.#makeWay(directory, name)
    }
    const before = this.#tree.entriesOf(directory).get(name)
    // A link, and the directory that another link leads to: one change with one kind cannot speak for both.
    const isOther = before !== undefined && (before.kind === 'directory') !== (as.kind === 'directory')
    if (isOther) this.delete({ directory, name, entry: before }, mask)
    const known = isOther ? undefined : before
    // An entry that takes a link's place may be a link that nobody has recognized yet.
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
    if (known !== undefined) this.takeOut({ directory, name, entry: known })
    if (known instanceof Directory) this.#tree.drop(known)
    this.#put(directory, name, as)
    if (isLink) this.#tree.movedLinks.push([{ from, to: { directory, name } }])
    this.#add(change)
  }

  /**
   * Moves each entry, with all below it, to the place of the next, and the last to that of the first: see {@link exchangesOf}. Two change places.
   *
   * @param circle `as`: the entry from now on
   */
  rotate(circle: ReadonlyArray<Located & { as: Entry }>, mask = 0): void {
    if (circle.some(({ as }) => as.kind === 'directory')) {
      for (const { directory, name } of circle) this.#makeWay(directory, name)
    }
    const paths = circle.map(({ directory, name }) => this.pathOf(directory, name))
    const kinds = circle.map(({ as }) => as.kind)
    const changes = exchangesOf(paths, kinds, mask, this.#source)
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
    const moved = circle.map((from, i) => ({ from, to: placed[i] as Located }))
    const links = moved.filter(({ from }) => isSymlink(from.entry) || isSymlink(from.as))
    if (links.length > 0) this.#tree.movedLinks.push(links)
    for (const change of changes) this.#add(change)
  }

  /** Returns the beginning of the paths of all entries in a directory. */
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
   * Makes way for a directory that is about to come to a path, or to leave it. The names that trees of other roots have told at or below the path
   * are told to be gone first: the directory that comes would take them over, and the directory that leaves would take along what is not in it.
   */
  #makeWay(directory: Directory, name: string): void {
    if (this.#isSilent || !this.#tree.hasSeveralTops) return
    for (const top of this.#tree.topsAtOrBelow(this.pathOf(directory, name))) {
      this.tellGone(top)
      this.#tree.vacate(top)
    }
  }

  /** Tells that all that is believed in a directory is gone, with the directory, which the caller drops. */
  tellGone(directory: Directory): void {
    for (const [name, entry] of this.#tree.entriesOf(directory))
      this.#tell('delete', directory, name, entry, 0)
  }

  #put(directory: Directory, name: string, entry: Entry): void {
    if (entry instanceof Directory) this.#tree.attach(entry, directory, name)
    else this.#tree.editableEntriesOf(directory).set(name, entry)
    // The entry may lie above the directory of the next path.
    this.#directory = undefined
  }

  #noteGone(directory: Directory, name: string, entry: Entry): void {
    if (isSymlink(entry)) this.#tree.movedLinks.push([{ from: { directory, name }, to: undefined }])
  }

  #tell(type: EntryChange['type'], directory: Directory, name: string, entry: Entry, mask: number): void {
    if (this.#isSilent) return
    const change = { type, path: this.pathOf(directory, name), kind: entry.kind, mask, source: this.#source }
    if (type === 'delete')
      this.#expansions?.note(change, eachBelow('delete', entry, change.path, this.#source))
    this.#add(change)
  }

  /** The notes of what a change speaks for, to be taken before the tree has changed. */
  get #expansions(): Expansions | undefined {
    return this.#isSilent ? undefined : this.#tree.expansions
  }

  #add(change: Change): void {
    if (!this.#isSilent) append(this.#changes, change)
  }
}
