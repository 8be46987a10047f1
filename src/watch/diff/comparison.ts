import type { Translator } from '../events/translator.ts'
import type { Surroundings } from '../pending/work_list.ts'
import { alteration, type Entries, type Entry, mayBeSame, moved } from '../scan/entry.ts'
import { Directory, isLinkBase, isUnwatched, isWithin, kept } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { Corrections } from './corrections.ts'
import type { DiffOptions } from './diff_options.ts'
import { difference } from './difference.ts'

export interface ComparisonParts {
  tree: Tree
  translator: Translator
  around: Surroundings
  options: DiffOptions
  corrections: Corrections
  /** A directory has come up that is to be surveyed as well. */
  goInto(directory: Directory): void
}

/** Holds the entries that were seen in a directory against those that are believed to be in it. */
export class Comparison {
  readonly #parts: ComparisonParts
  #byIno: Map<number, Directory> | undefined

  constructor(parts: ComparisonParts) {
    this.#parts = parts
  }

  /** @param only of these names, of which something is in doubt, and of no other */
  compare(directory: Directory, seen: Entries, only?: ReadonlySet<string>): void {
    const { tree, translator, around, options, corrections } = this.#parts
    const { recursive, followsLinks } = around
    const eventNames = options.eventNames?.get(directory)
    const isLeftOut = (name: string) => eventNames?.has(name) || (only !== undefined && !only.has(name))
    const before = tree.entriesOf(directory)
    const now: Entries = new Map()
    const staying = new Set<string>()
    const created: Array<[string, Entry]> = []
    const links: string[] = []
    for (const [name, entry] of seen) {
      if (isLeftOut(name) || this.#hides(directory, name, entry)) continue
      const known = corrections.knownAt(directory, name, entry.ino)
      if (entry.kind === 'directory' && recursive) {
        if (known?.kind === 'directory' && this.#stays(known, entry)) {
          staying.add(name)
          if (known instanceof Directory) corrections.find(known)
          this.#refresh(known, entry, only !== undefined)
          continue
        }
        if (this.#movesByStat(directory, name, entry)) {
          staying.add(name)
          continue
        }
        // Otherwise its own listing follows.
        if (only !== undefined || around.hidesSome) created.push([name, entry])
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
      if (!seen.has(name) && translator.hasLeft(directory, name)) continue
      if (!(entry instanceof Directory)) old.set(name, entry)
      // Another has its name, or its name is hidden; else it may be found elsewhere.
      else if (seen.has(name)) corrections.delete(directory, name, entry)
      else corrections.miss(entry)
    }
    this.#change(directory, before, old, now)
    for (const [name, { ino }] of created) this.#parts.goInto(corrections.create(directory, name, ino))
    for (const name of links) around.follow(directory, name)
  }

  /** Puts what is no directory, or none to be watched, in the place of what was. */
  #change(directory: Directory, before: Entries, old: Entries, now: Entries): void {
    const { tree, options, corrections } = this.#parts
    const { baseline, source } = options
    const since = options.comparedSince?.get(directory) ?? options.since
    if (!baseline) {
      const path = old.size + now.size > 0 ? tree.pathOf(directory, '') : ''
      corrections.add(difference(old, now, (name) => path + name, source, since))
    }
    for (const name of old.keys()) if (!now.has(name)) before.delete(name)
    for (const [name, entry] of now) before.set(name, kept(directory, entry))
  }

  /** A look after an event is about what there is: what is written, other events tell. */
  #isLeftToEvents({ mount }: Directory, known: Entry, entry: Entry): boolean {
    if (!mount.usesInotify || known.kind !== entry.kind || known.kind === 'directory') return false
    // Another file than was believed: what was told of it may have been about the one before.
    if (!mount.usesPolling && known.ino !== 0 && known.ino !== entry.ino) return false
    if (!mount.usesPolling) known.ino = entry.ino
    return true
  }

  #stays(known: Entry, entry: Entry): boolean {
    if (known instanceof Directory && isLinkBase(known)) return false
    return this.#parts.options.matchByName || mayBeSame(known, entry)
  }

  /** A directory is where it was: has it changed itself, or is it still to be listed? */
  #refresh(known: Entry, entry: Entry, isLook: boolean): void {
    if (!(known instanceof Directory)) return
    const { around, options, corrections, goInto } = this.#parts
    const { mount, parent, name } = known
    const knowsOwner = !mount.usesPolling || known.stat !== undefined
    const altered = knowsOwner
      ? alteration(known, entry, options.comparedSince?.get(known) ?? options.since)
      : undefined
    if (altered === 'attrib' && parent !== undefined) corrections.tell('attrib', parent, name, known)
    if (mount.usesPolling) known.stat = entry.stat
    if (isLook ? isUnwatched(known) || !known.isListed : around.hidesSome) goInto(known)
  }

  /** Where there is no watch to know a directory by, all that a rename leaves as it was must do. */
  #movesByStat(parent: Directory, name: string, entry: Entry): boolean {
    const { tree, options, corrections } = this.#parts
    const { mount } = parent
    if (!mount.usesPolling || mount.base === undefined || options.baseline) return false
    if (this.#byIno === undefined) {
      this.#byIno = new Map()
      for (const each of tree.within(mount.base)) this.#byIno.set(each.ino, each)
    }
    const from = this.#byIno.get(entry.ino)
    if (from?.parent === undefined || from.mount !== mount || from.stat === undefined) return false
    // It may have gone with what has been deleted since.
    if (!tree.isAttached(from)) return false
    if (!moved(from, entry, 0) || isWithin(parent, from)) return false
    const old = tree.entriesOf(parent).get(name)
    if (old !== undefined && old !== from) return false
    corrections.move(from, parent, name)
    return true
  }

  #hides(directory: Directory, name: string, { kind }: Entry): boolean {
    const { tree, around } = this.#parts
    return around.hidesSome && around.hides(tree.pathOf(directory, name), kind)
  }
}

/** A symlink that is followed is believed to be the directory that it leads to. */
function isFollowed(known: Entry, link: Entry): boolean {
  return known instanceof Directory ? isLinkBase(known) : mayBeSame(known, link)
}
