import type { Expansions } from '../report/expansions.ts'
import type { Chunk } from '../scan/chunk.ts'
import type { Entries, Entry } from '../scan/entry.ts'
import { Directory, type WatchedMount } from './directory.ts'
import { EntryCache } from './entry_cache.ts'
import { LazyDirectories } from './lazy_directories.ts'
import { Tops } from './tops.ts'

/** A symlink, or the directory that it leads to, that has another place now; `to` undefined: it is gone, or another has come to its name, which has been told. */
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
  // One inode has one wd by however many paths it is watched: bind mounts, links that are followed, roots within roots.
  readonly #byWd = new Map<number, Directory | Directory[]>()
  // In the order of their watches.
  readonly #lazy: LazyDirectories[] = []
  /** Watches that nothing needs any more, to be removed unless a directory that is found elsewhere takes them over. */
  readonly retired = new Set<number>()
  /** Those that have moved at the same time, until whoever follows them takes them from here. */
  readonly movedLinks: Array<readonly MovedLink[]> = []
  // Directories that have been dropped are still known to what was to look at them.
  readonly #tops = new Tops()
  /** Tops that have made way, until whoever looks after the roots takes them from here: see {@link TreeEditor}. */
  readonly vacated = new Set<Directory>()
  /** Where editors note what a change of a directory speaks for; undefined: nobody asks for it. */
  readonly expansions: Expansions | undefined
  #revision = 0

  constructor(cache = new EntryCache(), expansions?: Expansions) {
    this.#cache = cache
    this.expansions = expansions
  }

  entriesOf(directory: Directory): ReadonlyMap<string, Entry> {
    return this.#cache.entriesOf(directory)
  }

  /** See {@link Directory.peek}: for who reads all of a tree, and will not come back to it. */
  peek(directory: Directory): ReadonlyMap<string, Entry> {
    return directory.peek()
  }

  /** For {@link TreeEditor} alone, which tells what it changes. */
  editableEntriesOf(directory: Directory): Entries {
    return this.#cache.entriesOf(directory)
  }

  /** Whether {@link trim} would pack something. */
  get isCrowded(): boolean {
    return this.#cache.isFull
  }

  /** See {@link EntryCache.trim}: nobody may hold what {@link entriesOf} has given. */
  trim(): void {
    this.#cache.trim()
  }

  /** Another whenever a directory has come, moved or gone, and when a root is lost or back. */
  get revision(): number {
    return this.#revision
  }

  /** The directories that the events of a watch are about. */
  at(wd: number): readonly Directory[] {
    const found = this.#at(wd)
    return found === undefined ? [] : Array.isArray(found) ? found : [found]
  }

  /** The only directory of a watch; undefined if there is none or more than one. */
  onlyAt(wd: number): Directory | undefined {
    const found = this.#at(wd)
    return Array.isArray(found) ? undefined : found
  }

  /** Whether a directory has this watch: none is made to tell. */
  hasWatch(wd: number): boolean {
    return this.#byWd.has(wd) || this.#lazy.some((lazy) => lazy.hasWatch(wd))
  }

  /** To take in what a walk finds below directories of which nothing is known. The one before takes no more. */
  beginLazy(): LazyDirectories {
    this.#lazy.at(-1)?.seal()
    const lazy = new LazyDirectories(this, 1 + (this.#lazy.at(-1)?.mostWd ?? 0))
    this.#lazy.push(lazy)
    return lazy
  }

  /** See {@link LazyDirectories.isAsKept}. */
  isAsKept(parentWd: number, chunk: Chunk, at: number): boolean {
    return this.#lazy.some((lazy) => lazy.isAsKept(parentWd, chunk, at))
  }

  /** All of them are made. */
  forgetLazy(lazy: LazyDirectories): void {
    this.#lazy.splice(this.#lazy.indexOf(lazy), 1)
  }

  /** The directories whose watch is none of these. */
  watchedBut(wds: ReadonlySet<number>): Directory[] {
    const lazy = this.#lazy.flatMap((each) => [...each.watches()])
    return [...this.#byWd.keys(), ...lazy].filter((wd) => !wds.has(wd)).flatMap((wd) => this.at(wd))
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

  /** Its watch goes, unless other directories have the same. */
  clearWatch(directory: Directory): void {
    const { wd } = directory
    if (wd === 0) return
    this.loseWatch(directory)
    if (!this.#byWd.has(wd)) this.retired.add(wd)
  }

  /** A walk has added this watch, if it is one, to something of which nothing is believed. */
  disown(wd: number): void {
    if (wd > 0 && !this.#byWd.has(wd)) this.retired.add(wd)
  }

  /** The kernel has removed its watch. */
  loseWatch(directory: Directory): void {
    const { wd } = directory
    directory.wd = 0
    const others = this.at(wd).filter((other) => other !== directory)
    if (others.length > 1) this.#byWd.set(wd, others)
    else if (others[0] !== undefined) this.#byWd.set(wd, others[0])
    else this.#byWd.delete(wd)
  }

  /** The directory at a path below a root, given by its names; undefined if there is none. */
  find(top: Directory, names: readonly string[]): Directory | undefined {
    let found: Directory | undefined = top
    for (const name of names) {
      const entry: Entry | undefined = found && this.entriesOf(found).get(name)
      found = entry instanceof Directory ? entry : undefined
    }
    return found
  }

  /** A new directory, unlisted. Its name in the parent must be free. */
  add(parent: Directory, name: string, ino: number, mount: WatchedMount): Directory {
    const directory = new Directory(name, ino, mount)
    mount.directories++
    this.#revision++
    parent.adopt(directory)
    return directory
  }

  addRoot(path: string, mount: WatchedMount): Directory {
    mount.directories++
    const top = new Directory(path, 0, mount)
    this.#revision++
    this.#tops.add(top)
    return top
  }

  get hasSeveralTops(): boolean {
    return this.#tops.size > 1
  }

  /** The tops of trees whose paths are this one or lie below it. */
  topsAtOrBelow(path: string): readonly Directory[] {
    return this.#tops.atOrBelow(path)
  }

  /** A tree is forgotten, as all that was told of it has been told to be gone. */
  vacate(top: Directory): void {
    this.drop(top)
    this.vacated.add(top)
  }

  /** Takes it out of its parent, with all below it: from now on it is a root. */
  cut(directory: Directory): void {
    const path = this.pathOf(directory)
    this.detach(directory)
    directory.name = path
    this.#tops.add(directory)
  }

  /** Has a directory, and all below it that is of the same mount, belong to another. */
  regroup(directory: Directory, mount: WatchedMount): void {
    const before = directory.mount
    for (const each of this.within(directory)) if (each.mount === before) mount.take(each)
  }

  /** Takes it out of its parent: it is on its way to another place, or to be dropped. */
  detach(directory: Directory): void {
    const { parent, name } = directory
    if (parent === undefined) return
    const entries = this.editableEntriesOf(parent)
    if (entries.get(name) === directory) entries.delete(name)
    directory.parent = undefined
    this.#revision++
  }

  /** Gives it a place, which must be free. */
  attach(directory: Directory, parent: Directory, name: string): void {
    this.#tops.delete(directory)
    directory.name = name
    this.#revision++
    parent.adopt(directory)
    // It has come from beneath a symlink that is followed, or has gone there.
    if (directory.mount !== parent.mount && directory.mount.base !== directory)
      this.regroup(directory, parent.mount)
  }

  /** Forgets it and all below it, watches included. */
  drop(directory: Directory): void {
    this.detach(directory)
    this.#tops.delete(directory)
    for (const each of this.within(directory)) {
      this.clearWatch(each)
      this.#cache.forget(each)
      each.mount.forget(each)
    }
  }

  /** It and all directories below it, parents first. */
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

  /** The root that it lies below, or the directory on its way (or dropped) that it does. */
  topOf(directory: Directory): Directory {
    let top = directory
    while (top.parent !== undefined) top = top.parent
    return top
  }

  /** Whether it lies below a root. */
  isAttached(directory: Directory): boolean {
    return this.#tops.has(this.topOf(directory))
  }

  /** What is believed below a root that is lost stays as it is until it is restored, to be compared then with what is there. */
  setLost(top: Directory, isLost: boolean): void {
    this.#revision++
    this.#tops.setLost(top, isLost)
  }

  /** Whether it lies below a root, and not one that is lost: of that one nothing is to be found out and told. */
  isPresent(directory: Directory): boolean {
    const top = this.topOf(directory)
    return this.#tops.has(top) && !this.#tops.isLost(top)
  }

  /** Absolute, as a key (see name_key.ts). */
  pathOf(directory: Directory, name?: string): string {
    // Joined, not added up: what `+` makes is kept in the pieces that it was made of, a hundred bytes for each
    // level and path, until somebody reads it.
    const names = name === undefined ? [] : [name]
    let top = directory
    for (; top.parent !== undefined; top = top.parent) names.push(top.name)
    if (!top.isRoot) names.push(top.name, '')
    else names.push(top.name === '/' ? '' : top.name)
    return names.reverse().join('/') || '/'
  }
}
