import type { Rules } from '../../rules.ts'
import type { Entries, Entry } from '../../scan/entry.ts'
import type { Listing } from '../../scan/listing.ts'
import type { Directory, WatchedMount } from '../../tree/directory.ts'

/** How the walker gets to a directory: from a root, or from the link or mount point that it lies below. Keys: see name_key.ts. */
export interface Place {
  root: string
  noFollow?: boolean
  rel: string
  parentIno?: number
}

/** What a scan asks for by itself. */
export interface ScanTarget {
  readonly place: Place
  readonly name: string
  /** undefined: a root. */
  readonly parent: SnapshotDir | undefined
  readonly mount: WatchedMount
  /** Another mount begins here, or what a link leads to. */
  readonly isBase: boolean
  /** The directory that is asked for; undefined: what is at this place, whatever it is. */
  readonly requested?: Directory | undefined
  /** Of a symlink that nobody has followed yet: the identity of the directory that it was seen to lead to, in which it does not lie. */
  readonly leadsTo?: string
  /** Only these are looked at. */
  readonly names?: ReadonlySet<string> | undefined
  /** It is listed without what lies below it. */
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
  /** Of these names nothing is said: events speak of them. */
  except: ReadonlySet<string> = NOTHING
  /** How to get there, where that is known and nothing was asked of it. */
  way: Place | undefined
  /** Which directory of the tree it is; undefined: that is not known yet, or it says nothing. */
  match: Directory | undefined
  /** That one was none of those known, and has been made for it. */
  isMade = false
  /** Nothing was believed of what is in it before. */
  isNew = false
  /** Of what is matched by its name alone, and has no stat to be compared: whether mode or owner are others, as far as anybody can tell. */
  hasOtherOwner: boolean | undefined
  /** Where another mount begins in it, or a link leads to a directory: those were scanned. */
  bases: Map<string, SnapshotDir> | undefined
  /** Symlinks in it of which the scan has looked where they lead: of some nobody could say just now, and to follow some would be one too many on the way. */
  links: Map<string, 'followed' | 'unanswered' | Error> | undefined
  /** Directories in it that are not gone into. */
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

  /** What was seen in it, but for what is ignored. */
  get entries(): Entries {
    this.#entries ??= this.#visible(this.listing?.entries() ?? new Map())
    return this.#entries
  }

  /** What its parent's listing says of it. */
  get asEntry(): Entry | undefined {
    const { parent } = this
    if (parent?.listing === undefined || parent.listing.isUnchanged || this.isBase) return undefined
    return parent.entries.get(this.name)
  }

  get isBase(): boolean {
    return this.target?.isBase ?? false
  }

  /** Whether another mount has begun here, or the one that did is gone. */
  get isOnOtherMount(): boolean {
    const { listing, parent, mount } = this
    if (listing === undefined || parent === undefined) return false
    if (listing.isBoundary) return true
    const expected = this.isBase || parent.listing === undefined ? mount.mountId : parent.listing.mountId
    return listing.error === 0 && listing.mountId !== expected
  }

  /** Its entries are in the snapshot. */
  get isRead(): boolean {
    const { listing } = this
    return listing !== undefined && listing.error === 0 && !listing.isUnchanged && !listing.isBoundary
  }

  /** Whether the snapshot says what is at this name. */
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

  /** Where it was found, as a key. */
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

  #visible(entries: Entries): Entries {
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
