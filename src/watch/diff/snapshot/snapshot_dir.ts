import type { Rules } from '../../rules.ts'
import type { Entries, Entry } from '../../scan/entry.ts'
import type { Listing } from '../../scan/listing.ts'
import type { Directory, WatchedMount } from '../../tree/directory.ts'

/** The walker's way to a directory: from a root, or from the link or mount point that it lies below. Keys: see name_key.ts. */
export interface Place {
  root: string
  noFollow?: boolean
  rel: string
  parentIno?: number
}

/** A directory that a scan asks for by itself. */
export interface ScanTarget {
  readonly place: Place
  readonly name: string
  /** undefined: a root. */
  readonly parent: SnapshotDir | undefined
  readonly mount: WatchedMount
  /** True: another mount begins here, or a link leads here. */
  readonly isBase: boolean
  /** The known directory that is asked for; undefined: any that is at this place. */
  readonly requested?: Directory | undefined
  /** True: a directory is known at this place, and has a watch. Asked where watches are limited. */
  readonly isWatched?: boolean
  /** For a symlink that was not followed yet: the identity of the directory that it was seen to lead to, in which it does not lie. */
  readonly leadsTo?: string
  /** The only names to be looked at. */
  readonly names?: ReadonlySet<string> | undefined
  /** True: it is listed without the directories below. */
  readonly isLook?: boolean
}

const NOTHING: ReadonlySet<string> = new Set()

/** A directory as a scan has found it. */
export class SnapshotDir {
  name: string
  /** undefined: a root. */
  parent: SnapshotDir | undefined
  /** undefined: it was not asked for, and is only where others are. */
  readonly listing: Listing | undefined
  readonly mount: WatchedMount
  readonly target: ScanTarget | undefined
  /** The names of which nothing is said, since events are about them. */
  except: ReadonlySet<string> = NOTHING
  /** The way to it, if that is known and it was not asked for. */
  way: Place | undefined
  /** The directory of the tree that it is; undefined: that is not known yet, or it says nothing. */
  match: Directory | undefined
  /** True: `match` was made for it, since it is no known directory. */
  isMade = false
  /** True: none of its entries was known before. */
  isNew = false
  /** True: mode or owner differ, as far as can be told. Set if it is matched by its name alone and has no stat to be compared. */
  hasOtherOwner: boolean | undefined
  /** The scanned directories in it where another mount begins, or to which a link leads. */
  bases: Map<string, SnapshotDir> | undefined
  /** The symlinks in it that the scan has tried to follow: the ends of some could not be told just now, and some would be one too many on the way. */
  links: Map<string, 'followed' | 'unanswered' | Error> | undefined
  /** The directories in it that are not gone into. */
  refused: Set<string> | undefined
  readonly #rules: Rules
  #entries: Entries | undefined
  #path: string | undefined

  constructor(
    rules: Rules,
    name: string,
    parent: SnapshotDir | undefined,
    mount: WatchedMount,
    listing?: Listing,
    target?: ScanTarget,
  ) {
    this.#rules = rules
    this.name = name
    this.parent = parent
    this.mount = mount
    this.listing = listing
    this.target = target
  }

  /** The entries seen in it, but for ignored ones. */
  get entries(): Entries {
    this.#entries ??= this.visible(this.listing?.entries() ?? new Map())
    return this.#entries
  }

  /** Its entry in its parent's listing. */
  get asEntry(): Entry | undefined {
    const { parent } = this
    if (parent?.listing === undefined || parent.listing.isUnchanged || this.isBase) return undefined
    return parent.entries.get(this.name)
  }

  get isBase(): boolean {
    return this.target?.isBase ?? false
  }

  /** True: another mount has begun here, or the one that did is gone. */
  get isOnOtherMount(): boolean {
    const { listing, parent, mount } = this
    if (listing === undefined || parent === undefined) return false
    if (listing.isBoundary) return true
    const expected = this.isBase || parent.listing === undefined ? mount.mountId : parent.listing.mountId
    return listing.error === 0 && listing.mountId !== expected
  }

  /** True: its entries are in the snapshot. */
  get isRead(): boolean {
    const { listing } = this
    return listing !== undefined && listing.error === 0 && !listing.isUnchanged && !listing.isBoundary
  }

  /** Returns true if the snapshot says what is at this name. */
  covers(name: string): boolean {
    const names = this.target?.names
    return (names === undefined || names.has(name)) && !this.except.has(name)
  }

  get place(): Place {
    const known = this.target?.place ?? this.way
    if (known !== undefined) return known
    const { parent } = this
    if (parent === undefined) throw new Error('nobody has said how to get there')
    return placeBelow(parent.place, this.name, parent.listing?.ino)
  }

  /** The path at which it was found, as a key. */
  get path(): string {
    this.#path ??= this.#pathFrom(this.target?.place ?? this.way)
    return this.#path
  }

  #pathFrom(place: Place | undefined): string {
    if (place === undefined && this.parent !== undefined) return this.parent.pathTo(this.name)
    const { root, rel } = place ?? this.place
    return rel === '' ? root : `${root === '/' ? '' : root}/${rel}`
  }

  pathTo(name: string): string {
    return `${this.path === '/' ? '' : this.path}/${name}`
  }

  /** Returns entries of it without ignored ones. */
  visible(entries: Entries): Entries {
    if (!this.#rules.hidesSome) return entries
    for (const [name, { kind }] of entries) {
      if (this.#rules.hides(this.pathTo(name), kind)) entries.delete(name)
    }
    return entries
  }
}

export function placeBelow(place: Place, name: string, parentIno = 0): Place {
  const { parentIno: _, ...base } = place
  const rel = place.rel === '' ? name : `${place.rel}/${name}`
  return parentIno === 0 ? { ...base, rel } : { ...base, rel, parentIno }
}
