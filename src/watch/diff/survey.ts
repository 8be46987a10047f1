import type { InotifyError } from '../../errors.ts'
import type { Translator } from '../events/translator.ts'
import type { Surroundings } from '../pending/work_list.ts'
import type { Change } from '../report/change.ts'
import type { Entries } from '../scan/entry.ts'
import type { Listing } from '../scan/listing.ts'
import { findingOf, type RootFinding } from '../scan/root_finding.ts'
import { Directory, isWithin } from '../tree/directory.ts'
import type { LazyDirectories } from '../tree/lazy_directories.ts'
import type { Tree } from '../tree/tree.ts'
import { WatchStatus } from '../tree/watch_status.ts'
import type { WatchedMount } from '../tree/watched_mount.ts'
import { Comparison } from './comparison.ts'
import { Corrections } from './corrections.ts'
import type { DiffOptions } from './diff_options.ts'

/** Another mount, below a directory that was surveyed. */
export interface Boundary {
  parent: Directory
  name: string
  mountId: number
}

/**
 * Takes in what a walk finds, and tells how it differs from what was believed: for each listing, which directory it is of. One that has
 * another place than before is known by its watch, which is its inode's: so a rename that no event told of is a rename all the same.
 */
export class Survey {
  readonly #tree: Tree
  readonly #translator: Translator
  readonly #around: Surroundings
  readonly options: DiffOptions
  readonly #watchStatus: WatchStatus
  readonly #corrections: Corrections
  readonly #comparison: Comparison
  // By the id of their listing.
  #directories: Array<Directory | undefined> = []
  // By id: nothing was believed of it before.
  readonly #isNew: boolean[] = []
  /** To be surveyed next, in the same survey. */
  #deeper: Directory[] = []
  // What the listings of polled directories say of those in them.
  readonly #subdirectories = new Map<Directory, Entries>()
  #boundaries: Boundary[] = []
  /** What was found in the place of roots. */
  readonly roots = new Map<Directory, RootFinding>()
  /** See {@link Reconciliation.isIncomplete}. */
  isIncomplete = false
  /** The directories that were compared as a whole. */
  readonly compared: Directory[] = []
  /** Takes what there is nothing to tell of, where nothing was known. */
  unmade: LazyDirectories | undefined

  constructor(tree: Tree, translator: Translator, around: Surroundings, options: DiffOptions) {
    this.#tree = tree
    this.#translator = translator
    this.#around = around
    this.options = options
    this.#watchStatus = new WatchStatus(tree, around, options.fallBackToPolling)
    this.#corrections = new Corrections(tree, translator, options)
    const goInto = (directory: Directory) => this.#deeper.push(directory)
    const corrections = this.#corrections
    this.#comparison = new Comparison({ tree, translator, around, options, corrections, goInto })
  }

  /** The first error for want of something that was not known yet. */
  get shortage(): InotifyError | undefined {
    return this.#watchStatus.shortage
  }

  get watchStatus(): WatchStatus {
    return this.#watchStatus
  }

  /** See {@link WatchStatus.unlisted}. */
  get unlisted(): InotifyError | undefined {
    return this.#watchStatus.unlisted
  }

  /** The requests that the listings to come answer. */
  begin(directories: readonly Directory[]): void {
    this.#directories = [...directories]
    this.#isNew.length = 0
    const { recursive, hidesSome, followsLinks } = this.#around
    const { baseline, statAll, eventNames } = this.options
    const takesAll = baseline && recursive && !hidesSome && !followsLinks
    if (takesAll && !statAll && eventNames === undefined) this.unmade = this.#tree.beginUnmade()
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
    return this.#corrections.takeChanges()
  }

  /** When no more comes: what was not found again is gone. */
  finish(): Change[] {
    this.unmade?.seal()
    this.#corrections.deleteMissing()
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
    if (listing.error === 0 || directory.mount.uncovered.has(directory)) this.#adopt(directory, listing)
    this.#tree.trim()
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
      if (isBack) this.#corrections.add(this.#translator.keep(directory, name))
    }
    if (this.#tree.isAttached(directory)) this.#comparison.compare(directory, seen, names)
  }

  /** Where another mount begins; it is surveyed next. */
  createBase(parent: Directory, name: string, mount: WatchedMount): void {
    const known = this.#corrections.knownAt(parent, name)
    if (known instanceof Directory) return
    if (known !== undefined) this.#corrections.delete(parent, name, known)
    mount.base = this.#corrections.create(parent, name, 0, mount)
    this.#deeper.push(mount.base)
  }

  /** A directory that is not gone into, or a symlink that leads nowhere or back. */
  createLeaf(parent: Directory, name: string, kind: 'directory' | 'symlink'): void {
    const known = this.#corrections.knownAt(parent, name)
    if (known?.kind === kind) return
    if (known !== undefined) this.#corrections.delete(parent, name, known)
    this.#corrections.createLeaf(parent, name, kind)
  }

  #requested(listing: Listing): Directory | undefined {
    const directory = this.#directories[listing.id]
    if (directory === undefined || !this.#tree.isAttached(directory)) return undefined
    const { parent, name } = directory
    if (parent === undefined) return this.#root(directory, listing)
    if (listing.isGone) {
      this.isIncomplete = true
      this.#around.doubt(parent, name)
      return undefined
    }
    if (listing.mountId !== directory.mount.mountId && listing.error === 0) {
      this.#corrections.delete(parent, name, directory)
      // Unmounted, or mounted over.
      if (listing.mountId === parent.mount.mountId) return this.#corrections.create(parent, name, listing.ino)
      this.#boundaries.push({ parent, name, mountId: listing.mountId })
      return undefined
    }
    if (directory.ino !== 0 && listing.ino !== directory.ino && listing.error === 0) {
      this.#corrections.delete(parent, name, directory)
      return this.#corrections.create(parent, name, listing.ino)
    }
    if (listing.error === 0) directory.ino = listing.ino
    return directory
  }

  /** Whether it is still the same, the caller decides. */
  #root(directory: Directory, listing: Listing): Directory | undefined {
    this.roots.set(directory, findingOf(listing))
    if (listing.error !== 0) return undefined
    directory.ino = listing.ino
    directory.mount.mountId = listing.mountId
    return directory
  }

  #below(parent: Directory, listing: Listing): Directory | undefined {
    const { name } = listing
    // It was found elsewhere while the walk went on, and is listed there.
    if (!this.#tree.isAttached(parent)) return undefined
    if (this.options.eventNames?.get(parent)?.has(name)) return undefined
    // Of a parent that was unknown, nothing is known.
    const known =
      listing.parent !== undefined && this.#isNew[listing.parent]
        ? undefined
        : this.#corrections.knownAt(parent, name, listing.ino)
    const directory = known instanceof Directory ? known : undefined
    if (listing.isBoundary) {
      if (directory?.mount.base === directory && directory?.mount.mountId === listing.mountId) {
        this.#deeper.push(directory as Directory)
      } else {
        if (directory !== undefined) this.#corrections.delete(parent, name, directory)
        this.#boundaries.push({ parent, name, mountId: listing.mountId })
      }
      return undefined
    }
    if (listing.isGone) {
      if (directory !== undefined) {
        this.isIncomplete = true
        this.#around.doubt(parent, name)
      }
      return undefined
    }
    if (directory !== undefined) {
      directory.ino = listing.ino
      this.#corrections.find(directory)
      return directory
    }
    // A name that a file has: what the parent's own listing has shown is newer than this, or its event is on the way.
    if (known !== undefined) return undefined
    const found =
      this.#findMoved(parent, name, listing) ?? this.#corrections.create(parent, name, listing.ino)
    if (found.mount.usesPolling) {
      found.stat = this.#subdirectories.get(parent)?.get(name)?.stat ?? listing.owner
    }
    // Found by a poll, which adds no watch.
    const needsWatch = found.mount.usesInotify && listing.wd === 0
    if (needsWatch && (parent.wd > 0 || parent.mount.base === found)) this.#deeper.push(found)
    return found
  }

  /** A directory that has this listing's watch already, and is taken here from where it was. */
  #findMoved(parent: Directory, name: string, listing: Listing): Directory | undefined {
    if (listing.wd <= 0) return undefined
    const from = this.#tree.at(listing.wd).find((other) => other.mount === parent.mount)
    if (from === undefined || isWithin(parent, from)) return undefined
    this.#corrections.move(from, parent, name)
    return from
  }

  /** Its watch, or why there is none. */
  #cover(directory: Directory, listing: Listing): void {
    const { wd } = listing
    const { mount } = directory
    const others = wd > 0 ? this.#tree.at(wd) : []
    const stale = others.find((other) => other !== directory && other.mount === mount)
    this.#watchStatus.cover(directory, listing)
    if (stale !== undefined) this.#displace(stale, directory)
  }

  // One directory has one place in a mount. Where the watch says that this is another that was known elsewhere, that place is out
  // of date: its event is on the way, or was lost.
  #displace(stale: Directory, directory: Directory): void {
    const { parent, name } = stale
    // What is there in truth, no event may be left to tell.
    if (parent !== undefined) this.#around.doubt(parent, name)
    if (isWithin(directory, stale)) return
    if (parent !== undefined) this.#corrections.delete(parent, name, stale)
  }

  #adopt(directory: Directory, listing: Listing): void {
    const isNew = !directory.isListed
    this.compared.push(directory)
    this.#isNew[listing.id] = isNew
    // A poll takes in what events have told behind its listing, and leaves out what they speak of.
    if (this.options.source !== 'poll') this.#setListed(directory, isNew)
    directory.isListed = true
    const { recursive, hidesSome, followsLinks } = this.#around
    if (directory.mount.usesPolling) this.#subdirectories.set(directory, listing.subdirectories())
    const isAsPacked = directory.mount.usesPolling || !this.options.statAll
    if (isNew && this.options.baseline && recursive && isAsPacked && !hidesSome && !followsLinks) {
      if (listing.filesCount > 0) directory.takePacked(listing.packedFiles)
      const { mount } = directory
      if (!mount.usesPolling && this.#translator.listed.has(mount)) this.unmade?.open(listing.id, directory)
    } else this.#comparison.compare(directory, listing.entries())
  }

  #setListed(directory: Directory, isNew: boolean): void {
    const { mount } = directory
    if (mount.base === directory) this.#translator.listed.add(mount)
    // With its base, all that is new in a mount.
    else if (!isNew || !this.#translator.listed.has(mount)) this.#translator.listed.add(directory)
  }
}
