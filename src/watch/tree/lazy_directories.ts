import type { Listing } from '../scan/listing.ts'
import { Directory, type WatchedMount } from './directory.ts'
import { KeptRecords } from './kept_records.ts'

// Values of #lastIn in place of the id of the child found last. A child's id is never 0: that is a request's.
const CLOSED = 0
const NO_CHILD = -1

// An earlier record may have a wd that is so much higher than a later one's: two threads add watches.
const SLACK = 64

/** Integers of 32 bits by index, from 0 on; where none was set there is a 0. */
class Integers {
  #all = new Int32Array(16)
  /** One more than the highest index that was set. */
  length = 0

  at(index: number): number {
    return this.#all[index] ?? 0
  }

  /** Grows by much where it must: unwritten pages take no memory. */
  set(index: number, value: number): void {
    if (index >= this.#all.length) {
      const longer = new Int32Array(Math.max(4096, 4 * index))
      longer.set(this.#all)
      this.#all = longer
    }
    if (index >= this.length) this.length = index + 1
    this.#all[index] = value
  }

  /** Gives the memory back that was reserved for more. */
  seal(): void {
    this.#all = this.#all.slice(0, this.length)
  }
}

/** The part of the tree that lazy directories need. */
interface Keeper {
  /** Watches that nothing needs any more. */
  readonly retired: Set<number>
  hasWatch(wd: number): boolean
  setWatch(directory: Directory, wd: number): void
  /** Forgets lazy directories that are all made. */
  forgetLazy(lazy: LazyDirectories): void
}

/**
 * The directories that a walk has found in a tree of which nothing was known, kept as the walk's records. A {@link Directory} is made of each when an
 * event names it in its parent, or somebody asks for the directories in there. Nobody ever asks for most of them, and a kept record costs no object.
 */
export class LazyDirectories {
  readonly #tree: Keeper
  readonly #top: Directory
  readonly #mount: WatchedMount
  readonly #records = new KeptRecords()
  // By the listing's id: 1 + the place of its record; the last child found in it; the child before it in its parent.
  readonly #places = new Integers()
  readonly #lastIn = new Integers()
  readonly #before = new Integers()
  // By wd, from #firstWd on: the id, while its directory is not made yet.
  readonly #ids = new Integers()
  #firstWd = 0
  #left = 0
  #hasBegun = false
  #isSealed = false
  // By id: directories with children that are not made yet, or may get some before the walk has ended.
  readonly #made = new Map<number, Directory>()

  /** @param top the directory in which the walk begins */
  constructor(tree: Keeper, top: Directory) {
    this.#tree = tree
    this.#top = top
    this.#mount = top.mount
  }

  /** Notes that a walk begins. Only the first is taken in: ids count from 0 again in the next. */
  begin(): void {
    if (this.#hasBegun) this.seal()
    this.#hasBegun = true
  }

  /** Notes that the top is known: the directories in it need not be made yet. */
  open(): void {
    this.#openFor(0, this.#top)
  }

  /** Takes a listing in, and returns true, if it holds nothing but a directory that nobody knew. */
  take(listing: Listing): boolean {
    const { id, parent, wd } = listing
    if (this.#isSealed || parent === undefined || !listing.isPlain) return false
    if (this.#lastIn.at(parent) === CLOSED) return false
    // A directory with a known wd was found elsewhere before: it has moved.
    if (!this.#hasSlotFor(wd) || this.#tree.hasWatch(wd)) return false
    const place = this.#records.keep(listing)
    if (place === undefined) return false
    this.#places.set(id, 1 + place)
    this.#before.set(id, this.#lastIn.at(parent))
    this.#lastIn.set(parent, id)
    this.#lastIn.set(id, NO_CHILD)
    this.#ids.set(wd - this.#firstWd, id)
    this.#left++
    this.#mount.directories++
    this.#tree.retired.delete(wd)
    return true
  }

  /** Ends the intake: the walk has ended. */
  seal(): void {
    if (this.#isSealed) return
    for (const [id, directory] of this.#made) {
      if (this.#lastIn.at(id) > 0) continue
      directory.unfold()
      this.#made.delete(id)
    }
    this.#isSealed = true
    for (const each of [this.#records, this.#places, this.#lastIn, this.#before, this.#ids]) each.seal()
    this.#forgetIfEmpty()
  }

  /** Returns the directory of a listing, made now if it is not yet; undefined once the walk has ended. */
  directoryOf(id: number): Directory | undefined {
    if (this.#isSealed) return undefined
    if (this.#places.at(id) !== 0) this.#makeUpTo(id)
    return this.#made.get(id)
  }

  hasWatch(wd: number): boolean {
    return this.#idOf(wd) !== 0
  }

  /** Makes the directory that has this watch, if it is one of these; the tree then knows it. */
  makeAt(wd: number): boolean {
    const id = this.#idOf(wd)
    if (id !== 0) this.#makeUpTo(id)
    return id !== 0
  }

  /**
   * Returns true if a listing says just what is kept of a directory that is not made yet, and its parent has the same watch as ever.
   *
   * @param parentWd the wd of the parent in which the directory was found
   */
  isAsKept(parentWd: number, listing: Listing): boolean {
    const id = this.#idOf(listing.wd)
    if (id === 0) return false
    const place = this.#placeOf(id)
    const parent = this.#records.parentAt(place)
    const known = this.#made.get(parent)?.wd ?? this.#records.wdAt(this.#placeOf(parent))
    return known === parentWd && this.#records.isSame(place, listing)
  }

  /** Yields the watches of all that are not made yet. */
  *watches(): Generator<number> {
    for (let i = 0; i < this.#ids.length; i++) if (this.#ids.at(i) !== 0) yield this.#firstWd + i
  }

  #openFor(id: number, directory: Directory): void {
    if (!this.#isSealed && this.#lastIn.at(id) === CLOSED) this.#lastIn.set(id, NO_CHILD)
    this.#made.set(id, directory)
    directory.unfoldBy(() => this.#makeThoseIn(id))
  }

  #makeUpTo(id: number): void {
    const line: number[] = []
    for (let each = id; !this.#made.has(each); ) {
      each = this.#records.parentAt(this.#placeOf(each))
      line.push(each)
    }
    for (const each of line.reverse()) this.#made.get(each)?.unfold()
  }

  #makeThoseIn(id: number): Directory[] {
    const made: Directory[] = []
    for (let each = this.#lastIn.at(id); each > 0; each = this.#before.at(each))
      made.push(this.#makeOne(each))
    this.#lastIn.set(id, CLOSED)
    if (this.#isSealed) this.#made.delete(id)
    this.#left -= made.length
    this.#forgetIfEmpty()
    return made.reverse()
  }

  #makeOne(id: number): Directory {
    const records = this.#records
    const place = this.#placeOf(id)
    const wd = records.wdAt(place)
    const directory = new Directory(records.nameAt(place), records.inoAt(place), this.#mount)
    directory.isListed = true
    directory.owner = records.ownerAt(place)
    const files = records.filesAt(place)
    if (files !== '') directory.takePacked(files)
    this.#ids.set(wd - this.#firstWd, 0)
    this.#tree.setWatch(directory, wd)
    if (!this.#isSealed || this.#lastIn.at(id) > 0) this.#openFor(id, directory)
    return directory
  }

  #placeOf(id: number): number {
    return this.#places.at(id) - 1
  }

  #idOf(wd: number): number {
    return this.#ids.at(wd - this.#firstWd)
  }

  #forgetIfEmpty(): void {
    if (this.#isSealed && this.#left === 0) this.#tree.forgetLazy(this)
  }

  // The kernel numbers watches in the order of their adding: where it does not, the array would be all holes.
  #hasSlotFor(wd: number): boolean {
    if (this.#firstWd === 0) this.#firstWd = Math.max(1, wd - SLACK)
    const slot = wd - this.#firstWd
    return slot >= 0 && slot <= 4 * (this.#left + 1024)
  }
}
