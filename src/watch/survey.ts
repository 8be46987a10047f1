import type { InotifyError } from '../errors.ts'
import type { Change, Source } from './change.ts'
import { Coverer } from './coverer.ts'
import { difference } from './difference.ts'
import { Directory, isLinkBase, isUnwatched, isWithin } from './directory.ts'
import { alteration, type Entries, type Entry, mayBeSame, moved } from './entries.ts'
import type { Listing } from './listing.ts'
import type { Territory } from './territory.ts'
import type { Surroundings, Translator } from './translate.ts'
import type { Tree } from './tree.ts'
import type { Unmade } from './unmade.ts'

/** How what is found is held against what is believed. */
export interface SurveyTerms {
  source: Source
  /** See {@link alteration}. */
  since: number
  /** Names alone count: a root that came back is another directory, with others in it. */
  byName: boolean
  /** Nothing is told: what is found is what there was when watching began. */
  silent: boolean
  /** Names that events have told of since the survey began. */
  touched?: ReadonlyMap<Directory, ReadonlySet<string>> | undefined
  /** Where no watch is to be had, a poll does. */
  pollInstead: boolean
  /** What was not listed is as it is believed to be: a poll has found no directory that has come, gone or moved. */
  isPartial?: boolean
  /** Every entry is looked at: events have been lost, and its times must tell what has changed. */
  withStat: boolean
}

/** Another mount, below a directory that was surveyed. */
export interface Boundary {
  parent: Directory
  name: string
  mountId: number
}

/** What a root's path leads to. */
export interface RootFinding {
  /** 0, or -errno of opening or reading it. */
  error: number
  /** That says nothing of it: see {@link Listing.isShort}. */
  isShort: boolean
  identity: string
}

export function findingOf({ error, isShort, identity }: Listing): RootFinding {
  return { error, isShort, identity }
}

/**
 * Takes in what a walk finds, and tells how it differs from what was believed. A directory that has another place than before is known
 * by its watch, which is its inode's: so a rename that no event told of is a rename all the same.
 */
export class Survey {
  readonly #tree: Tree
  readonly #translator: Translator
  readonly #around: Surroundings
  readonly terms: SurveyTerms
  readonly #coverer: Coverer
  #changes: Change[] = []
  // By the id of their listing.
  #directories: Array<Directory | undefined> = []
  // Not where they were. What is found elsewhere has moved.
  readonly #gone = new Set<Directory>()
  // By id: nothing was believed of it before.
  readonly #isNew: boolean[] = []
  /** To be surveyed next, in the same survey. */
  #deeper: Directory[] = []
  // What the listings of polled directories say of those in them.
  readonly #subdirectories = new Map<Directory, Entries>()
  #byIno: Map<number, Directory> | undefined
  #boundaries: Boundary[] = []
  /** What was found in the place of roots. */
  readonly roots = new Map<Directory, RootFinding>()
  /** Takes what there is nothing to tell of, where nothing was known. */
  unmade: Unmade | undefined

  constructor(tree: Tree, translator: Translator, around: Surroundings, terms: SurveyTerms) {
    this.#tree = tree
    this.#translator = translator
    this.#around = around
    this.terms = terms
    this.#coverer = new Coverer(tree, around, terms.pollInstead)
  }

  /** The first error for want of something that was not known yet. */
  get shortage(): InotifyError | undefined {
    return this.#coverer.shortage
  }

  /** See {@link Coverer.unlisted}. */
  get unlisted(): InotifyError | undefined {
    return this.#coverer.unlisted
  }

  /** The requests that the listings to come answer. */
  begin(directories: readonly Directory[]): void {
    this.#directories = [...directories]
    this.#isNew.length = 0
    const { recursive, hidesSome, followsLinks } = this.#around
    const { silent, withStat, touched } = this.terms
    const takesAll = silent && recursive && !hidesSome && !followsLinks
    if (takesAll && !withStat && touched === undefined) this.unmade = this.#tree.beginUnmade()
  }

  /** What has come up since {@link begin} and is to be surveyed as well. */
  takeDeeper(): Directory[] {
    const deeper = this.#deeper
    this.#deeper = []
    return deeper
  }

  /** Mounts that were met and not crossed. */
  takeBoundaries(): Boundary[] {
    const boundaries = this.#boundaries
    this.#boundaries = []
    return boundaries
  }

  /** What can be told already. */
  takeChanges(): Change[] {
    const changes = this.#changes
    this.#changes = []
    return changes
  }

  /** When no more comes: what was not found again is gone. */
  finish(): Change[] {
    this.unmade?.seal()
    for (const directory of this.#gone) {
      const { parent, name } = directory
      if (parent !== undefined && this.#tree.isAttached(directory)) this.#delete(parent, name, directory)
    }
    return this.takeChanges()
  }

  take(listing: Listing): void {
    const { parent } = listing
    const above = parent === undefined ? undefined : this.#above(parent)
    let directory: Directory | undefined
    if (parent === undefined) directory = this.#requested(listing)
    else if (above !== undefined) directory = this.#below(above, listing)
    this.#directories[listing.id] = directory
    if (directory === undefined) {
      this.#tree.disown(listing.wd)
      return
    }
    this.#cover(directory, listing)
    if (listing.error === 0 || directory.territory.uncovered.has(directory)) this.#adopt(directory, listing)
  }

  #above(id: number): Directory | undefined {
    const known = this.#directories[id]
    if (known !== undefined || this.unmade === undefined) return known
    const made = this.unmade.directoryOf(id)
    if (made === undefined) return undefined
    this.#isNew[id] = true
    this.#directories[id] = made
    return made
  }

  /** Holds some names of a directory against what was seen there. */
  takeNames(directory: Directory, names: Iterable<string>, seen: Entries): void {
    this.#takeLook(directory, seen, new Set(names))
  }

  /** Holds all that is in a directory against what was seen there, but for some names. */
  takeWhole(directory: Directory, listing: Listing, but: ReadonlySet<string>): void {
    if (!this.#tree.isAttached(directory)) return
    this.#cover(directory, listing)
    const seen = listing.entries()
    const names = new Set([...seen.keys(), ...this.#tree.entriesOf(directory).keys()])
    for (const name of but) names.delete(name)
    this.#takeLook(directory, seen, names)
  }

  #takeLook(directory: Directory, seen: Entries, names: ReadonlySet<string>): void {
    if (!this.#tree.isAttached(directory)) return
    for (const name of this.#translator.isPending ? names : []) {
      const ino = seen.get(name)?.ino
      // All that was queued before the look has been told, and it is there: it had not left.
      const isBack = ino !== undefined && this.#tree.entriesOf(directory).get(name)?.ino === ino
      if (isBack) this.#changes.push(...this.#translator.keep(directory, name))
    }
    if (this.#tree.isAttached(directory)) this.#compare(directory, seen, names)
  }

  /** A directory that nobody knew has come up. */
  create(parent: Directory, name: string, ino: number, territory = parent.territory): Directory {
    const directory = this.#tree.add(parent, name, ino, territory)
    this.#tell('create', parent, name, directory)
    return directory
  }

  /** Where another territory begins; it is surveyed next. */
  createBase(parent: Directory, name: string, territory: Territory): void {
    const known = this.#knownAt(parent, name)
    if (known instanceof Directory) return
    if (known !== undefined) this.#deleteLeaf(parent, name, known)
    territory.base = this.create(parent, name, 0, territory)
    this.#deeper.push(territory.base)
  }

  /** A directory that is not gone into, or a symlink that leads nowhere or back. */
  createLeaf(parent: Directory, name: string, kind: 'directory' | 'symlink'): void {
    const entries = this.#tree.entriesOf(parent)
    const known = this.#knownAt(parent, name)
    if (known?.kind === kind) return
    if (known !== undefined) this.#deleteLeaf(parent, name, known)
    const leaf: Entry = { kind, ino: 0 }
    entries.set(name, leaf)
    this.#tell('create', parent, name, leaf)
  }

  /** What is believed to be at a name, where something with this inode number was found. What has left it before is gone. */
  #knownAt(parent: Directory, name: string, ino = 0): Entry | undefined {
    const known = this.#tree.entriesOf(parent).get(name)
    const isBack = ino !== 0 && known?.ino === ino
    if (known === undefined || isBack || !this.#translator.hasLeft(parent, name)) return known
    this.#deleteLeaf(parent, name, known)
    return undefined
  }

  #requested(listing: Listing): Directory | undefined {
    const directory = this.#directories[listing.id]
    if (directory === undefined || !this.#tree.isAttached(directory)) return undefined
    const { parent, name } = directory
    if (parent === undefined) return this.#root(directory, listing)
    if (listing.isGone) {
      this.#around.doubt(parent, name)
      return undefined
    }
    if (listing.mountId !== directory.territory.mountId && listing.error === 0) {
      this.#delete(parent, name, directory)
      // Unmounted, or mounted over.
      if (listing.mountId === parent.territory.mountId) return this.create(parent, name, listing.ino)
      this.#boundaries.push({ parent, name, mountId: listing.mountId })
      return undefined
    }
    if (directory.ino !== 0 && listing.ino !== directory.ino && listing.error === 0) {
      this.#delete(parent, name, directory)
      return this.create(parent, name, listing.ino)
    }
    if (listing.error === 0) directory.ino = listing.ino
    return directory
  }

  /** Whether it is still the same, the caller decides. */
  #root(directory: Directory, listing: Listing): Directory | undefined {
    this.roots.set(directory, findingOf(listing))
    if (listing.error !== 0) return undefined
    directory.ino = listing.ino
    directory.territory.mountId = listing.mountId
    return directory
  }

  #below(parent: Directory, listing: Listing): Directory | undefined {
    const { name } = listing
    // It was found elsewhere while the walk went on, and is listed there.
    if (!this.#tree.isAttached(parent)) return undefined
    if (this.terms.touched?.get(parent)?.has(name)) return undefined
    // Of a parent that was unknown, nothing is known.
    const known =
      listing.parent !== undefined && this.#isNew[listing.parent]
        ? undefined
        : this.#knownAt(parent, name, listing.ino)
    const directory = known instanceof Directory ? known : undefined
    if (listing.isBoundary) {
      if (directory?.territory.base === directory && directory?.territory.mountId === listing.mountId) {
        this.#deeper.push(directory as Directory)
      } else {
        if (directory !== undefined) this.#delete(parent, name, directory)
        this.#boundaries.push({ parent, name, mountId: listing.mountId })
      }
      return undefined
    }
    if (listing.isGone) {
      if (directory !== undefined) this.#around.doubt(parent, name)
      return undefined
    }
    if (directory !== undefined) {
      directory.ino = listing.ino
      this.#gone.delete(directory)
      return directory
    }
    // A name that a file has: what the parent's own listing has shown is newer than this, or its event is on the way.
    if (known !== undefined) return undefined
    const found = this.#findMoved(parent, name, listing) ?? this.create(parent, name, listing.ino)
    if (found.territory.isPolled) {
      found.stat = this.#subdirectories.get(parent)?.get(name)?.stat ?? listing.owner
    }
    // Found by a poll, which adds no watch.
    const needsWatch = found.territory.isWatched && listing.wd === 0
    if (needsWatch && (parent.wd > 0 || parent.territory.base === found)) this.#deeper.push(found)
    return found
  }

  /** A directory that has this listing's watch already, and is taken here from where it was. */
  #findMoved(parent: Directory, name: string, listing: Listing): Directory | undefined {
    if (listing.wd <= 0) return undefined
    const from = this.#tree.at(listing.wd).find((other) => other.territory === parent.territory)
    if (from === undefined || isWithin(parent, from)) return undefined
    this.#move(from, this.#tree.pathOf(from), parent, name)
    return from
  }

  /** Where there is no watch to know a directory by, all that a rename leaves as it was must do. */
  #movesByStat(parent: Directory, name: string, entry: Entry): boolean {
    const { territory } = parent
    if (!territory.isPolled || territory.base === undefined || this.terms.silent) return false
    if (this.#byIno === undefined) {
      this.#byIno = new Map()
      for (const each of this.#tree.within(territory.base)) this.#byIno.set(each.ino, each)
    }
    const from = this.#byIno.get(entry.ino)
    if (from?.parent === undefined || from.territory !== territory || from.stat === undefined) return false
    if (!moved(from, entry, 0) || isWithin(parent, from)) return false
    const old = this.#tree.entriesOf(parent).get(name)
    if (old !== undefined && old !== from) return false
    this.#move(from, this.#tree.pathOf(from), parent, name)
    return true
  }

  #move(directory: Directory, oldPath: string, parent: Directory, name: string): void {
    const { source } = this.terms
    this.#gone.delete(directory)
    this.#tree.detach(directory)
    this.#tree.attach(directory, parent, name)
    const path = this.#tree.pathOf(parent, name)
    // It has come back to where it left.
    if (path === oldPath) return
    const kind = 'directory'
    this.#changes.push({ type: 'rename', from: oldPath, path, replaced: false, kind, mask: 0, source })
  }

  /** Its watch, or why there is none. */
  #cover(directory: Directory, listing: Listing): void {
    const { wd } = listing
    const { territory } = directory
    const others = wd > 0 ? this.#tree.at(wd) : []
    const stale = others.find((other) => other !== directory && other.territory === territory)
    this.#coverer.cover(directory, listing)
    if (stale !== undefined) this.#displace(stale, directory)
  }

  // One directory has one place in a territory. Where the watch says that this is another that was known elsewhere, that place is out
  // of date: its event is on the way, or was lost.
  #displace(stale: Directory, directory: Directory): void {
    const { parent, name } = stale
    // What is there in truth, no event may be left to tell.
    if (parent !== undefined) this.#around.doubt(parent, name)
    if (isWithin(directory, stale)) return
    if (parent !== undefined) this.#delete(parent, name, stale)
  }

  #adopt(directory: Directory, listing: Listing): void {
    const isNew = !directory.isListed
    this.#isNew[listing.id] = isNew
    // A poll takes in what events have told behind its listing, and leaves out what they speak of.
    if (this.terms.source !== 'poll') this.#setListed(directory, isNew)
    directory.isListed = true
    const { recursive, hidesSome, followsLinks } = this.#around
    if (directory.territory.isPolled) this.#subdirectories.set(directory, listing.subdirectories())
    const isAsPacked = directory.territory.isPolled || !this.terms.withStat
    if (isNew && this.terms.silent && recursive && isAsPacked && !hidesSome && !followsLinks) {
      if (listing.filesCount > 0) directory.takePacked(listing.packedFiles)
      const { territory } = directory
      if (!territory.isPolled && this.#translator.listed.has(territory))
        this.unmade?.open(listing.id, directory)
    } else this.#compare(directory, listing.entries())
  }

  #setListed(directory: Directory, isNew: boolean): void {
    const { territory } = directory
    if (territory.base === directory) this.#translator.listed.add(territory)
    // With its base, all that is new in a territory.
    else if (!isNew || !this.#translator.listed.has(territory)) this.#translator.listed.add(directory)
  }

  #compare(directory: Directory, seen: Entries, only?: ReadonlySet<string>): void {
    const { recursive, followsLinks } = this.#around
    const touched = this.terms.touched?.get(directory)
    const isLeftOut = (name: string) => touched?.has(name) || (only !== undefined && !only.has(name))
    const before = this.#tree.entriesOf(directory)
    const now: Entries = new Map()
    const staying = new Set<string>()
    const created: Array<[string, Entry]> = []
    const links: string[] = []
    for (const [name, entry] of seen) {
      if (isLeftOut(name) || this.#hides(directory, name, entry)) continue
      const known = this.#knownAt(directory, name, entry.ino)
      if (entry.kind === 'directory' && recursive) {
        if (known?.kind === 'directory' && this.#stays(known, entry)) {
          staying.add(name)
          if (known instanceof Directory) this.#gone.delete(known)
          this.#refresh(known, entry, only !== undefined)
          continue
        }
        if (this.#movesByStat(directory, name, entry)) {
          staying.add(name)
          continue
        }
        // Otherwise its own listing follows.
        if (only !== undefined || this.#around.hidesSome) created.push([name, entry])
      } else if (entry.kind === 'symlink' && followsLinks) {
        if (known !== undefined && isFollowed(known, entry)) staying.add(name)
        else links.push(name)
      } else if (only !== undefined && known !== undefined && this.#isLeftToEvents(directory, known, entry)) {
        staying.add(name)
      } else now.set(name, entry)
    }
    const old: Entries = new Map()
    for (const [name, entry] of before) {
      if (isLeftOut(name) || staying.has(name)) continue
      // Where to, its arrival tells.
      if (!seen.has(name) && this.#translator.hasLeft(directory, name)) continue
      if (!(entry instanceof Directory)) old.set(name, entry)
      // Another has its name, or its name is hidden; else it may be found elsewhere.
      else if (seen.has(name)) this.#delete(directory, name, entry)
      else this.#gone.add(entry)
    }
    this.#change(directory, before, old, now)
    for (const [name, { ino }] of created) this.#deeper.push(this.create(directory, name, ino))
    for (const name of links) this.#around.follow(directory, name)
  }

  /** Puts what is no directory, or none to be watched, in the place of what was. */
  #change(directory: Directory, before: Entries, old: Entries, now: Entries): void {
    const { silent, source, since } = this.terms
    if (!silent) {
      const path = old.size + now.size > 0 ? this.#tree.pathOf(directory, '') : ''
      for (const change of difference(old, now, (name) => path + name, source, since)) {
        this.#changes.push(change)
      }
    }
    for (const name of old.keys()) if (!now.has(name)) before.delete(name)
    const keepsStat = directory.territory.isPolled
    for (const [name, entry] of now) {
      before.set(name, keepsStat ? entry : { kind: entry.kind, ino: entry.ino })
    }
  }

  /** A look after an event is about what there is: what is written, other events tell. */
  #isLeftToEvents({ territory }: Directory, known: Entry, entry: Entry): boolean {
    if (!territory.isWatched || known.kind !== entry.kind || known.kind === 'directory') return false
    // Another file than was believed: what was told of it may have been about the one before.
    if (!territory.isPolled && known.ino !== 0 && known.ino !== entry.ino) return false
    if (!territory.isPolled) known.ino = entry.ino
    return true
  }

  #stays(known: Entry, entry: Entry): boolean {
    if (known instanceof Directory && isLinkBase(known)) return false
    return this.terms.byName || mayBeSame(known, entry)
  }

  /** A directory is where it was: has it changed itself, or is it still to be listed? */
  #refresh(known: Entry, entry: Entry, isLook: boolean): void {
    if (!(known instanceof Directory)) return
    const { territory, parent, name } = known
    const knowsOwner = !territory.isPolled || known.stat !== undefined
    const altered = knowsOwner ? alteration(known, entry, this.terms.since) : undefined
    if (altered === 'attrib' && parent !== undefined) this.#tell('attrib', parent, name, known)
    if (territory.isPolled) known.stat = entry.stat
    if (isLook ? isUnwatched(known) || !known.isListed : this.#around.hidesSome) this.#deeper.push(known)
  }

  #hides(directory: Directory, name: string, { kind }: Entry): boolean {
    return this.#around.hidesSome && this.#around.hides(this.#tree.pathOf(directory, name), kind)
  }

  #delete(parent: Directory, name: string, directory: Directory): void {
    this.#tell('delete', parent, name, directory)
    this.#gone.delete(directory)
    this.#tree.drop(directory)
  }

  #deleteLeaf(parent: Directory, name: string, entry: Entry): void {
    if (entry instanceof Directory) this.#delete(parent, name, entry)
    else {
      this.#tell('delete', parent, name, entry)
      this.#tree.entriesOf(parent).delete(name)
    }
  }

  #tell(type: 'create' | 'attrib' | 'delete', parent: Directory, name: string, { kind }: Entry): void {
    const { silent, source } = this.terms
    if (silent) return
    this.#changes.push({ type, path: this.#tree.pathOf(parent, name), kind, mask: 0, source })
  }
}

/** A symlink that is followed is believed to be the directory that it leads to. */
function isFollowed(known: Entry, link: Entry): boolean {
  return known instanceof Directory ? isLinkBase(known) : mayBeSame(known, link)
}
