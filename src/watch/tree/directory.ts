import type { Backend, Choice } from '../../mounts/filesystems.ts'
import { alteration, type Entries, type Entry, mayBeSame, type Stat, UNKNOWN_OWNER } from '../scan/entry.ts'
import { pack, unpackString } from '../scan/packed_entries.ts'

/**
 * A directory that is watched or polled, and what is believed of its entries.
 *
 * Most directories of a large tree are never spoken of: those keep the names of their files as a string of packed bytes, and become a
 * Map when the first event comes. See {@link EntryCache}.
 */
export class Directory implements Entry {
  /** The root's: its absolute path. */
  name: string
  /** undefined: a root, or on its way from one directory to another. */
  parent: Directory | undefined
  ino: number
  /** The inotify watch; 0: none. */
  wd = 0
  mount: WatchedMount
  stat: Stat | undefined = undefined
  /** See {@link ownerKey}: as it was listed last. */
  owner = UNKNOWN_OWNER
  /** Whether its entries have been listed. */
  isListed = false
  #packed = ''
  #subdirectories: Directory[] | undefined = undefined
  #entries: Entries | undefined = undefined
  // Makes those below it that are still to be made.
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

  get isUnpacked(): boolean {
    return this.#entries !== undefined
  }

  /** How many entries a Map has to hold; 0 while they are packed. */
  get unpackedSize(): number {
    return this.#entries?.size ?? 0
  }

  /** Its entries, to be read and changed. Only by way of {@link EntryCache.entriesOf}, so that they are packed again some day. */
  unpacked(): Entries {
    this.unfold()
    if (this.#entries === undefined) {
      this.#entries = this.#unpack()
      this.#packed = ''
      this.#subdirectories = undefined
    }
    return this.#entries
  }

  /** Its entries, to be read at once: they are unpacked for that and stay packed. */
  peek(): ReadonlyMap<string, Entry> {
    this.unfold()
    return this.#entries ?? this.#unpack()
  }

  #unpack(): Entries {
    const entries: Entries = new Map()
    if (this.#packed !== '') unpackString(this.#packed, entries)
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

  /** Takes entries other than directories as the addon has packed them, in a directory of which nothing is believed yet. */
  takePacked(packed: string): void {
    this.#packed = packed
  }

  /** Whether nothing is believed to be in it. */
  get isEmpty(): boolean {
    if (this.#entries !== undefined) return this.#entries.size === 0
    return this.#packed === '' && this.#subdirectories === undefined && this.#makeRest === undefined
  }

  /** Whether its entries other than directories are believed to be just these: as good as no change. */
  isPackedAs(packed: string): boolean {
    return this.#entries === undefined && this.#packed === packed
  }

  /** False: no entry has this name, which is ASCII, that is no directory. As good as no work. */
  mayHold(name: string): boolean {
    return this.#entries?.has(name) ?? this.#packed.includes(name)
  }

  /** Takes a directory in, where nothing else has its name. */
  adopt(directory: Directory): void {
    directory.parent = this
    if (this.#entries !== undefined) this.#entries.set(directory.name, directory)
    else if (this.#subdirectories === undefined) this.#subdirectories = [directory]
    else this.#subdirectories.push(directory)
  }

  /** There are directories below it that are made when somebody asks for them: see lazy_directories.ts. */
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
 * What of a root lies on one mount, and where the changes there come from. Below a symlink that is followed another begins, since it
 * is opened by another path.
 */
export class WatchedMount {
  backend: Backend
  /** One sentence: why this source. */
  why: string
  mountId: number
  /** Where it begins. */
  base: Directory | undefined
  /** Which directory that is, as it was listed last: see {@link Listing.identity}. '' while nobody has listed it. */
  identity = ''
  /** Whether its base is reached by a symlink, so that opening it must follow one. */
  readonly isLinked: boolean
  /** The symlink by which its base is reached, as it was last seen by whoever looked where it leads. */
  link: Entry | undefined
  /** Its names may be the same in any case: what an event calls a file may not be what a listing does. */
  anyCase = false
  /** Its inode numbers are no evidence: it gives others to what has not changed. See passing_numbers.ts. */
  numbersPass = false
  /** Grows when something is believed of it that no poll has found: what a poll has seen last is not what is believed then. */
  revision = 0
  /** Grows when all that was listed of it before is out of date. */
  epoch = 0
  /** ms since the epoch: what was done before has been told, by its events or by the last poll. */
  toldUntil = 0
  /** All that a root lies on: what begins below this one, what this one lies below, and itself. */
  family = new Set<WatchedMount>([this])
  directories = 0
  readonly #uncovered = new Map<Directory, Error>()
  readonly #closed = new Set<Directory>()
  /** Those of them that are polled for want of a watch; ms since the epoch: what was done in each before has been told. */
  readonly leftover = new Map<Directory, number>()
  /** Mounts below that are not watched at all, and links that are not followed, and why: by the directory that they are in, and their name there. */
  readonly refused = new Map<Directory, Map<string, Error>>()
  /** Why all of it is polled, if not by its mount. */
  limit: Error | undefined

  constructor(backend: Backend, why: string, mountId: number, isLinked = false) {
    this.backend = backend
    this.why = why
    this.mountId = mountId
    this.isLinked = isLinked
  }

  /** Is watched by this source from now on. */
  follow({ backend, why, anyCase = false }: Choice): this {
    this.backend = backend
    this.why = why
    this.anyCase = anyCase
    return this
  }

  /** Directories that are not watched as they should be, and why. */
  get uncovered(): ReadonlyMap<Directory, Error> {
    return this.#uncovered
  }

  /** Those of them that may not be read, or reached (EACCES): few, where thousands may lack a watch. */
  get closed(): ReadonlySet<Directory> {
    return this.#closed
  }

  /** Notes that a directory is not watched as it should be, and why. */
  uncover(directory: Directory, error: Error): void {
    this.#uncovered.set(directory, error)
    if ('code' in error && error.code === 'EACCES') this.#closed.add(directory)
    else this.#closed.delete(directory)
  }

  /** Takes {@link uncover} back. */
  cover(directory: Directory): void {
    this.#uncovered.delete(directory)
    this.#closed.delete(directory)
  }

  /** Its directories are to be covered anew, by a source that is chosen anew. */
  reset(): void {
    this.limit = undefined
    this.numbersPass = false
    this.#uncovered.clear()
    this.#closed.clear()
    this.leftover.clear()
  }

  /** Belongs to the root of another from now on. */
  join({ family }: WatchedMount): void {
    this.leave()
    family.add(this)
    this.family = family
    if ([...family].some((each) => each.numbersPass && each.mountId === this.mountId)) this.numbersPass = true
  }

  /** Its inode numbers are no evidence, wherever in the family the same mount is seen. */
  distrustNumbers(): void {
    for (const each of this.family) if (each.mountId === this.mountId) each.numbersPass = true
  }

  /** Is nobody's any more. */
  leave(): void {
    this.family.delete(this)
    this.family = new Set([this])
  }

  /** Notes that a mount below is not watched at all, or a link is not followed, and why. */
  refuse(parent: Directory, name: string, error: Error): void {
    const refused = this.refused.get(parent)
    if (refused === undefined) this.refused.set(parent, new Map([[name, error]]))
    else refused.set(name, error)
  }

  /** Takes {@link refuse} back: something else may be there. Whether there was anything to take back. */
  allow(parent: Directory, name: string): boolean {
    const refused = this.refused.get(parent)
    const wasRefused = refused?.delete(name) ?? false
    if (refused?.size === 0) this.refused.delete(parent)
    return wasRefused
  }

  /** Whether nothing contradicts that this is the symlink that leads to its base. */
  mayBeLink(entry: Entry): boolean {
    return this.link !== undefined && mayBeSame(this.link, entry)
  }

  /** Whether this is the symlink that leads to its base, as far as that can be seen. */
  isLink(entry: Entry): boolean {
    return this.mayBeLink(entry) && alteration(this.link as Entry, entry, 0) === undefined
  }

  get usesInotify(): boolean {
    return this.backend !== 'poll'
  }

  get usesPolling(): boolean {
    return this.backend !== 'inotify'
  }

  /** Has a directory that is another's belong to it, with what is noted of it. */
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

/** Whether it is what a symlink that is followed leads to. */
export function isLinkBase(directory: Directory): boolean {
  return directory.mount.isLinked && directory.mount.base === directory
}

/** How many symlinks are followed on the way from a root to a directory. */
export function linksAbove(directory: Directory): number {
  let links = 0
  for (let each: Directory | undefined = directory; each !== undefined; each = each.parent)
    if (isLinkBase(each)) links++
  return links
}

/** Whether it is a symlink, followed or not. */
export function isSymlink(entry: Entry): boolean {
  return entry instanceof Directory ? isLinkBase(entry) : entry.kind === 'symlink'
}

/** Whether it is the other one, or lies below it. */
export function isWithin(directory: Directory, other: Directory): boolean {
  for (let each: Directory | undefined = directory; each !== undefined; each = each.parent) {
    if (each === other) return true
  }
  return false
}

/** Whether a watch is still to be added to it. */
export function isUnwatched(directory: Directory): boolean {
  const { mount, wd } = directory
  return mount.usesInotify && wd === 0 && !mount.uncovered.has(directory)
}

/** Whether the kernel's events say IN_ISDIR of it: not of a link to a directory. */
export function isToEvents(entry: Entry): boolean {
  return entry.kind === 'directory' && !(entry instanceof Directory && isLinkBase(entry))
}
