import { isWithin } from '../../mounts/mountinfo.ts'
import type { Expansions } from '../report/expansions.ts'
import type { Entries, Entry } from '../scan/entry.ts'
import type { Listing } from '../scan/listing.ts'
import { Directory, type WatchedMount } from './directory.ts'
import { EntryCache } from './entry_cache.ts'
import { LazyDirectories } from './lazy_directories.ts'

/** A symlink, followed or not, that has moved. `to` undefined: the link is gone, or another entry has come to its name; that has been told. */
export interface MovedLink {
  from: { directory: Directory; name: string }
  to: { directory: Directory; name: string } | undefined
}

/**
 * The watched directories, below their roots. Each knows its parent and its own name, so renaming one is a change in two places,
 * whatever lies below it. Knows no file system.
 */
export class Tree {
  readonly #cache: EntryCache
  // One inode has one wd, by however many paths it is watched: bind mounts, followed links, roots within roots.
  readonly #byWd = new Map<number, Directory | Directory[]>()
  readonly #lazy: LazyDirectories[] = []
  /** Watches that nothing needs any more, to be removed unless a directory that is found elsewhere takes them over. */
  readonly retired = new Set<number>()
  /** Links that have moved at the same time, until the follower of links takes them from here. */
  readonly movedLinks: Array<readonly MovedLink[]> = []
  // The tops. Queues of looks may still hold directories that have been dropped: those have no top in here.
  readonly #tops = new Set<Directory>()
  readonly #lost = new Set<Directory>()
  /** Tops that have made way, until the keeper of the roots takes them from here: see {@link TreeEditor}. */
  readonly vacated = new Set<Directory>()
  /** The place where editors note the changes that a directory's change speaks for; undefined: nobody asks for them. */
  readonly expansions: Expansions | undefined
  /** Differs whenever a directory has come, moved or gone, and when a root is lost or back. */
  revision = 0

  constructor(cache = new EntryCache(), expansions?: Expansions) {
    this.#cache = cache
    this.expansions = expansions
  }

  entriesOf(directory: Directory): ReadonlyMap<string, Entry> {
    return this.#cache.entriesOf(directory)
  }

  /** For {@link TreeEditor} alone, which tells what it changes. */
  editableEntriesOf(directory: Directory): Entries {
    return this.#cache.entriesOf(directory)
  }

  /** See {@link EntryCache.trim}: no caller may hold what {@link entriesOf} has given. */
  trim(): void {
    this.#cache.trim()
  }

  /** Returns the directories that the events of a watch are about. */
  at(wd: number): readonly Directory[] {
    const found = this.#at(wd)
    return found === undefined ? [] : Array.isArray(found) ? found : [found]
  }

  /** Returns the only directory of a watch; undefined if there is none or more than one. */
  onlyAt(wd: number): Directory | undefined {
    const found = this.#at(wd)
    return Array.isArray(found) ? undefined : found
  }

  /** The number of watches, but for those of directories that are not made yet. */
  get watches(): number {
    return this.#byWd.size
  }

  /** Returns true if a directory has this watch. Makes no lazy directory to find out. */
  hasWatch(wd: number): boolean {
    return this.#byWd.has(wd) || this.#lazy.some((lazy) => lazy.hasWatch(wd))
  }

  /** Returns the intake for what a walk finds below a top of which nothing is known. The intake before takes no more. */
  beginLazy(top: Directory): LazyDirectories {
    this.#lazy.at(-1)?.seal()
    const lazy = new LazyDirectories(this, top)
    this.#lazy.push(lazy)
    return lazy
  }

  /** See {@link LazyDirectories.isAsKept}. */
  isAsKept(parentWd: number, listing: Listing): boolean {
    return this.#lazy.some((lazy) => lazy.isAsKept(parentWd, listing))
  }

  /** Forgets lazy directories that are all made. */
  forgetLazy(lazy: LazyDirectories): void {
    this.#lazy.splice(this.#lazy.indexOf(lazy), 1)
  }

  /** Returns the directories whose watch is none of these. */
  watchedBut(wds: ReadonlySet<number>): Directory[] {
    const lazy = this.#lazy.flatMap((each) => [...each.watches()])
    return [...this.#byWd.keys(), ...lazy].filter((wd) => !wds.has(wd)).flatMap((wd) => this.at(wd))
  }

  /** Takes {@link retired} out. Not before it is known that no dropped directory is found elsewhere. */
  takeRetired(): number[] {
    const retired = [...this.retired]
    this.retired.clear()
    return retired
  }

  setWatch(directory: Directory, wd: number): void {
    this.retired.delete(wd)
    if (directory.wd === wd) return
    this.clearWatch(directory)
    directory.wd = wd
    const found = this.#at(wd)
    if (found === undefined) this.#byWd.set(wd, directory)
    else this.#byWd.set(wd, [...(Array.isArray(found) ? found : [found]), directory])
  }

  /** Takes the watch from a directory, and retires the watch unless other directories share it. */
  clearWatch(directory: Directory): void {
    const { wd } = directory
    if (wd === 0) return
    this.loseWatch(directory)
    if (!this.#byWd.has(wd)) this.retired.add(wd)
  }

  /** Retires a watch (wd > 0) that a walk has added to something of which nothing is believed. */
  disown(wd: number): void {
    if (wd > 0 && !this.#byWd.has(wd)) this.retired.add(wd)
  }

  /** Notes that the kernel has removed the watch of a directory. */
  loseWatch(directory: Directory): void {
    const { wd } = directory
    directory.wd = 0
    const others = this.at(wd).filter((other) => other !== directory)
    if (others.length > 1) this.#byWd.set(wd, others)
    else if (others[0] !== undefined) this.#byWd.set(wd, others[0])
    else this.#byWd.delete(wd)
  }

  /** Returns the directory at a path below a root, given by its names; undefined if there is none. */
  find(top: Directory, names: readonly string[]): Directory | undefined {
    let found: Directory | undefined = top
    for (const name of names) {
      const entry: Entry | undefined = found && this.entriesOf(found).get(name)
      found = entry instanceof Directory ? entry : undefined
    }
    return found
  }

  /** Adds a new directory, unlisted. Its name in the parent must be free. */
  add(parent: Directory, name: string, ino: number, mount: WatchedMount): Directory {
    const directory = new Directory(name, ino, mount)
    mount.directories++
    this.revision++
    parent.adopt(directory)
    return directory
  }

  addRoot(path: string, mount: WatchedMount): Directory {
    mount.directories++
    const top = new Directory(path, 0, mount)
    this.revision++
    this.#tops.add(top)
    return top
  }

  get hasSeveralTops(): boolean {
    return this.#tops.size > 1
  }

  /** Returns the tops whose paths are this one or lie below it. */
  topsAtOrBelow(path: string): readonly Directory[] {
    return [...this.#tops].filter(({ name }) => isWithin(name, path))
  }

  /** Forgets a tree whose entries have all been told to be gone. */
  vacate(top: Directory): void {
    this.drop(top)
    this.vacated.add(top)
  }

  /** Takes a directory out of its parent, with all below it: from now on it is a root. */
  cut(directory: Directory): void {
    const path = this.pathOf(directory)
    this.detach(directory)
    directory.name = path
    this.#tops.add(directory)
  }

  /** Moves a directory, and all below it that is of the same mount, to another mount. */
  regroup(directory: Directory, mount: WatchedMount): void {
    const before = directory.mount
    for (const each of this.within(directory)) if (each.mount === before) mount.take(each)
  }

  /** Takes a directory out of its parent: it is on its way to another place, or about to be dropped. */
  detach(directory: Directory): void {
    const { parent, name } = directory
    if (parent === undefined) return
    const entries = this.editableEntriesOf(parent)
    if (entries.get(name) === directory) entries.delete(name)
    directory.parent = undefined
    this.revision++
  }

  /** Gives a directory a place, which must be free. */
  attach(directory: Directory, parent: Directory, name: string): void {
    this.#forgetTop(directory)
    directory.name = name
    this.revision++
    parent.adopt(directory)
    // The directory has come from beneath a followed symlink, or has gone there.
    if (directory.mount !== parent.mount && directory.mount.base !== directory)
      this.regroup(directory, parent.mount)
  }

  /** Forgets a directory and all below it, watches included. */
  drop(directory: Directory): void {
    this.detach(directory)
    this.#forgetTop(directory)
    for (const each of this.within(directory)) {
      this.clearWatch(each)
      this.#cache.forget(each)
      each.mount.forget(each)
    }
  }

  /** Yields a directory and all directories below it, parents first. */
  *within(directory: Directory): Generator<Directory> {
    const pending = [directory]
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      for (const below of next.subdirectories()) pending.push(below)
      yield next
    }
  }

  #at(wd: number): Directory | Directory[] | undefined {
    const found = this.#byWd.get(wd)
    if (found !== undefined || this.#lazy.length === 0) return found
    return this.#lazy.some((lazy) => lazy.makeAt(wd)) ? this.#byWd.get(wd) : undefined
  }

  /** Returns the topmost directory above: a root's, or one that is on its way or dropped. */
  topOf(directory: Directory): Directory {
    let top = directory
    while (top.parent !== undefined) top = top.parent
    return top
  }

  /** Returns true if the directory lies below a root. */
  isAttached(directory: Directory): boolean {
    return this.#tops.has(this.topOf(directory))
  }

  /** Marks a root as lost or restored. The beliefs below a lost root stay until it is restored, to be compared with what is there then. */
  setLost(top: Directory, isLost: boolean): void {
    this.revision++
    if (isLost) this.#lost.add(top)
    else this.#lost.delete(top)
  }

  /** Returns true if the directory lies below a root that is not lost: of a lost root, nothing is to be found out and told. */
  isPresent(directory: Directory): boolean {
    const top = this.topOf(directory)
    return this.#tops.has(top) && !this.#lost.has(top)
  }

  #forgetTop(directory: Directory): void {
    this.#tops.delete(directory)
    this.#lost.delete(directory)
  }

  /** Returns the absolute path, as a key (see name_key.ts). */
  pathOf(directory: Directory, name?: string): string {
    // Joined, not added: a string made by `+` keeps its pieces, a hundred bytes for each level and path, until somebody
    // reads it.
    const names = name === undefined ? [] : [name]
    let top = directory
    for (; top.parent !== undefined; top = top.parent) names.push(top.name)
    if (!top.isRoot) names.push(top.name, '')
    else names.push(top.name === '/' ? '' : top.name)
    return names.reverse().join('/') || '/'
  }
}
