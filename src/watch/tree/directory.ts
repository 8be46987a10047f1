import type { Backend, Choice } from '../../mounts/filesystems.ts'
import { alteration, type Entries, type Entry, mayBeSame, type Stat, UNKNOWN_OWNER } from '../scan/entry.ts'
import { pack, unpackString } from '../scan/packed_entries.ts'
import { ByName } from './by_name.ts'

/**
 * A directory that is watched or polled, and what is believed of its entries.
 *
 * Most directories of a large tree are never spoken of: those keep the names of their files as a string of packed bytes, and get a Map when the first event
 * comes. See {@link EntryCache}.
 */
export class Directory implements Entry {
  /** The name in the parent; of a root: its absolute path. */
  name: string
  /** undefined: the directory is a root, or on its way from one parent to another. */
  parent: Directory | undefined
  ino: number
  /** The inotify watch; 0: none. */
  wd = 0
  mount: WatchedMount
  stat: Stat | undefined = undefined
  /** The {@link ownerKey} of the last listing. */
  owner = UNKNOWN_OWNER
  /** True: its entries have been listed. */
  isListed = false
  #packed = ''
  #subdirectories: Directory[] | undefined = undefined
  #entries: Entries | undefined = undefined
  // Makes the directories below this one that are not made yet.
  #makeRest: (() => Directory[]) | undefined = undefined

  constructor(name: string, ino: number, mount: WatchedMount) {
    this.name = name
    this.parent = undefined
    this.ino = ino
    this.mount = mount
  }

  get kind(): 'directory' {
    return 'directory'
  }

  get isRoot(): boolean {
    return this.name.startsWith('/')
  }

  /** The number of entries in the Map; 0 while they are packed. */
  get unpackedSize(): number {
    return this.#entries?.size ?? 0
  }

  /** Returns the entries, to be read and changed. Call it by way of {@link EntryCache.entriesOf} only, which packs them again some day. */
  unpacked(): Entries {
    if (this.#makeRest !== undefined) this.unfold()
    if (this.#entries === undefined) {
      this.#entries = this.#unpack()
      this.#packed = ''
      this.#subdirectories = undefined
    }
    return this.#entries
  }

  /** Returns the entries, for a caller that reads them once: they are unpacked into a new Map, and the directory stays packed. */
  peek(): ReadonlyMap<string, Entry> {
    this.unfold()
    return this.#entries ?? this.#unpack()
  }

  #unpack(): Entries {
    const entries = unpackString(this.#packed)
    for (const directory of this.#subdirectories ?? []) entries.set(directory.name, directory)
    return entries
  }

  compact(): void {
    if (this.#entries === undefined) return
    const others: Array<[string, Entry]> = []
    const subdirectories: Directory[] = []
    for (const [name, entry] of this.#entries) {
      if (entry instanceof Directory) subdirectories.push(entry)
      else others.push([name, entry])
    }
    this.#subdirectories = subdirectories.length > 0 ? subdirectories : undefined
    this.#packed = pack(others)
    this.#entries = undefined
  }

  /** Takes the non-directory entries as the addon has packed them. Nothing may be believed of this directory yet. */
  takePacked(packed: string): void {
    this.#packed = packed
  }

  /** True: no entry is believed to be in it. */
  get isEmpty(): boolean {
    if (this.#entries !== undefined) return this.#entries.size === 0
    return this.#packed === '' && this.#subdirectories === undefined && this.#makeRest === undefined
  }

  /** Returns true if its non-directory entries are packed, and believed to be just these: the comparison of two strings. */
  isPackedAs(packed: string): boolean {
    return this.#entries === undefined && this.#packed === packed
  }

  /** Returns false if no entry other than a directory has this ASCII name. Costs almost nothing. */
  mayHold(name: string): boolean {
    return this.#entries?.has(name) ?? this.#packed.includes(name)
  }

  /** Takes a directory in as a child. No other entry may have its name. */
  adopt(directory: Directory): void {
    directory.parent = this
    if (this.#entries !== undefined) this.#entries.set(directory.name, directory)
    else if (this.#subdirectories === undefined) this.#subdirectories = [directory]
    else this.#subdirectories.push(directory)
  }

  /** Leaves directories below this one to be made when somebody asks for them: see lazy_directories.ts. */
  unfoldBy(makeRest: () => Directory[]): void {
    this.#makeRest = makeRest
  }

  unfold(): void {
    const makeRest = this.#makeRest
    this.#makeRest = undefined
    if (makeRest !== undefined) for (const each of makeRest()) this.adopt(each)
  }

  /** The directories right below it. */
  *subdirectories(): Generator<Directory> {
    this.unfold()
    if (this.#entries === undefined) yield* this.#subdirectories ?? []
    else for (const entry of this.#entries.values()) if (entry instanceof Directory) yield entry
  }
}

/**
 * The part of a root that lies on one mount, and the source of its changes. A followed symlink begins another one, since its target is opened by another path.
 */
export class WatchedMount {
  backend: Backend
  /** One sentence: why this source. */
  why: string
  mountId: number
  /** The topmost directory. */
  base: Directory | undefined
  /** The identity of the base as of the last listing: see {@link Listing.identity}. '' while nobody has listed it. */
  identity = ''
  /** True: its base is reached by a symlink, so opening the base must follow a link. */
  readonly isLinked: boolean
  /** The symlink to its base, as last seen by whoever looked where the link leads. */
  link: Entry | undefined
  /** True: names may be the same in any case. An event may spell a name otherwise than a listing. */
  anyCase: boolean
  /** True: inode numbers are no evidence, as this filesystem gives unchanged entries new ones. See passing_numbers.ts. */
  numbersPass = false
  /** Grows when a belief changes by other means than a poll: what the last poll has seen is then not what is believed. */
  revision = 0
  /** Grows when all earlier listings of it are out of date. */
  epoch = 0
  /** ms since the epoch: changes before then have been told, by events or by the last poll. */
  toldUntil = 0
  /** All mounts that a root lies on: those that begin below this one, those above it, and itself. */
  family = new Set<WatchedMount>([this])
  directories = 0
  /** Directories that are not watched as they should be, each with the reason: see {@link uncover}. */
  readonly uncovered = new Map<Directory, Error>()
  /** The uncovered directories that may not be read or reached (EACCES): few, where thousands may lack a watch. */
  readonly closed = new Set<Directory>()
  /** The uncovered directories that are polled for want of a watch, each with a time in ms since the epoch: changes in it before then have been told. */
  readonly leftover = new Map<Directory, number>()
  /** Mounts below that are not watched at all, and links that are not followed, each with the reason. Another entry may come to such a name. */
  readonly refused = new ByName<Directory, Error>()
  /** The reason why all of it is polled, if the mount itself is not the reason. */
  limit: Error | undefined

  constructor({ backend, why, anyCase = false }: Choice, mountId = 0, isLinked = false) {
    this.backend = backend
    this.why = why
    this.anyCase = anyCase
    this.mountId = mountId
    this.isLinked = isLinked
  }

  /** Takes its changes from this source from now on. */
  follow({ backend, why, anyCase = false }: Choice): this {
    this.backend = backend
    this.why = why
    this.anyCase = anyCase
    return this
  }

  /** Notes that a directory is not watched as it should be, and why. */
  uncover(directory: Directory, error: Error): void {
    this.uncovered.set(directory, error)
    if ('code' in error && error.code === 'EACCES') this.closed.add(directory)
    else this.closed.delete(directory)
  }

  /** Takes {@link uncover} back. */
  cover(directory: Directory): void {
    this.uncovered.delete(directory)
    this.closed.delete(directory)
  }

  /** Prepares for its directories to be covered anew, by a source that is chosen anew. */
  reset(): void {
    this.limit = undefined
    this.numbersPass = false
    this.uncovered.clear()
    this.closed.clear()
    this.leftover.clear()
  }

  /** Joins the family, and so the root, of another mount. */
  join({ family }: WatchedMount): void {
    this.leave()
    family.add(this)
    this.family = family
    if ([...family].some((each) => each.numbersPass && each.mountId === this.mountId)) this.numbersPass = true
  }

  /** Distrusts the inode numbers wherever in the family the same mount is seen. */
  distrustNumbers(): void {
    for (const each of this.family) if (each.mountId === this.mountId) each.numbersPass = true
  }

  /** Leaves its family: it belongs to no root any more. */
  leave(): void {
    this.family.delete(this)
    this.family = new Set([this])
  }

  /** Returns true if nothing contradicts that this entry is the symlink to its base. */
  mayBeLink(entry: Entry): boolean {
    return this.link !== undefined && mayBeSame(this.link, entry)
  }

  /** Returns true if this entry is the symlink to its base, as far as can be seen. */
  isLink(entry: Entry): boolean {
    return this.mayBeLink(entry) && alteration(this.link as Entry, entry, 0) === undefined
  }

  get usesInotify(): boolean {
    return this.backend !== 'poll'
  }

  get usesPolling(): boolean {
    return this.backend !== 'inotify'
  }

  /** Takes a directory over from another mount, with everything that the other has noted of it. */
  take(directory: Directory): void {
    const { mount } = directory
    const error = mount.uncovered.get(directory)
    const refused = mount.refused.get(directory)
    if (error !== undefined) this.uncover(directory, error)
    const toldUntil = mount.leftover.get(directory)
    if (toldUntil !== undefined) this.leftover.set(directory, toldUntil)
    if (refused !== undefined) this.refused.set(directory, refused)
    mount.forget(directory)
    this.directories++
    directory.mount = this
  }

  forget(directory: Directory): void {
    this.directories--
    this.cover(directory)
    this.leftover.delete(directory)
    this.refused.delete(directory)
  }
}

/** Returns true if the directory is the target of a followed symlink. */
export function isLinkBase(directory: Directory): boolean {
  return directory.mount.isLinked && directory.mount.base === directory
}

/** Returns the number of followed symlinks on the way from a root to a directory. */
export function linksAbove(directory: Directory): number {
  let links = 0
  for (let each: Directory | undefined = directory; each !== undefined; each = each.parent)
    if (isLinkBase(each)) links++
  return links
}

/** Returns true if the entry is a symlink, followed or not. */
export function isSymlink(entry: Entry): boolean {
  return entry instanceof Directory ? isLinkBase(entry) : entry.kind === 'symlink'
}

/** Returns true if the directory is the other one, or lies below it. */
export function isWithin(directory: Directory, other: Directory): boolean {
  for (let each: Directory | undefined = directory; each !== undefined; each = each.parent) {
    if (each === other) return true
  }
  return false
}

/** Returns true if a watch is still to be added to the directory. */
export function isUnwatched(directory: Directory): boolean {
  const { mount, wd } = directory
  return mount.usesInotify && wd === 0 && !mount.uncovered.has(directory)
}

/** Returns true if the kernel sets IN_ISDIR in events of the entry: not of a link to a directory. */
export function isToEvents(entry: Entry): boolean {
  return entry.kind === 'directory' && !(entry instanceof Directory && isLinkBase(entry))
}
