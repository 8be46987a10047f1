import { IN_ISDIR, IN_MOVED_TO } from '../../inotify/constants.ts'
import type { DiffContext } from '../diff/context.ts'
import type { PendingMove, Place } from '../pending/pending_moves.ts'
import { alterationOfMoved, type Entry, mayBeSame } from '../scan/entry.ts'
import { keepsStat, kept } from '../tree/believed_entry.ts'
import { Directory, isLinkBase, isSymlink, isToEvents, isUnwatched, isWithin } from '../tree/directory.ts'
import type { TreeEditor } from '../tree/tree_editor.ts'
import type { BatchView } from './batch_view.ts'
import { findExchange } from './exchange.ts'

/** The objects by which events are translated, without a look at any file. */
export type TranslatorContext = Pick<DiffContext, 'tree' | 'rules' | 'pending'>

/** An event whose turn has come, in one of the directories that have its watch. */
export interface DueEvent extends Place {
  index: BatchView
  /** Its number in there. */
  i: number
  mask: number
  cookie: number
}

/** Pairs the two halves of a rename by cookie, never by adjacency: other events come between them, and a read may end there. */
export class Renames {
  readonly #context: TranslatorContext
  readonly #editor: TreeEditor
  // By directory, the name at which an entry has come over another, if nothing was moved, made or removed there since:
  // the kernel locks both directories of an exchange until all its events are queued, so that nothing is in between.
  // `from`: undefined for an entry from elsewhere.
  readonly #cameOver = new WeakMap<Directory, { name: string; from: Place | undefined }>()

  constructor(context: TranslatorContext, editor: TreeEditor) {
    this.#context = context
    this.#editor = editor
  }

  /**
   * Frees a name that an entry has left and another takes now: only the order of its own delete and create is right. Returns an event that is to be
   * translated before.
   */
  vacate({ index, directory, name, mask, cookie }: DueEvent): DueEvent | undefined {
    const { tree, pending } = this.#context
    const departed = pending.moves.from(directory, name)
    // The entry may come back to the name that it left.
    if (departed === undefined || (mask & IN_MOVED_TO && departed.cookie === cookie)) return undefined
    // Its arrival, queued later, is translated first: else a reader would take the new entry for the moved one.
    const i = index.arrivals.get(departed.cookie)
    const to = i === undefined || index.done.has(i) ? undefined : tree.onlyAt(index.batch.wd(i))
    // The directory where it arrives may itself be on its way.
    if (i === undefined || to === undefined || pending.moves.above(to) !== undefined) {
      this.giveUp(departed)
      return undefined
    }
    index.done.add(i)
    return {
      index,
      i,
      directory: to,
      mask: index.batch.mask(i),
      cookie: departed.cookie,
      name: index.name(i),
    }
  }

  depart({ directory, mask, cookie, name }: DueEvent, entry: Entry | undefined): void {
    const { pending } = this.#context
    const last = this.#cameOver.get(directory)
    const over = last?.name === name ? last : undefined
    this.#cameOver.delete(directory)
    // An exchange with an entry outside, or ignored, has the events of an arrival over an entry and of a departure from
    // that name: then the earlier entry has left, and the one that came is there still.
    if (entry !== undefined && over !== undefined && over.from === undefined)
      pending.rechecks.addSwapped(directory, name)
    if (entry !== undefined && isToEvents(entry) === ((mask & IN_ISDIR) !== 0)) {
      pending.moves.add({ cookie, directory, name, entry, mask, cameFrom: over?.from })
      return
    }
    // Another entry has taken the name: by an exchange with one outside, or since this event, as a listing has shown.
    if (entry !== undefined) pending.rechecks.add(directory, name)
    else pending.rechecks.noteWritten(directory, name)
  }

  /** Pairs an arrival with its departure. Returns false if the entry comes from elsewhere, or was not known at the name that it left. */
  arrive(event: DueEvent, known: Entry | undefined): boolean {
    const { directory, cookie, name } = event
    const { pending } = this.#context
    const pendingMove = pending.moves.of(cookie)
    this.#cameOver.delete(directory)
    if (pendingMove === undefined) {
      if (known !== undefined) this.#cameOver.set(directory, { name, from: undefined })
      return false
    }
    // No entry takes the place of a directory that it lies in: what is known is out of date, and is looked at.
    const isAround = known instanceof Directory && isWithin(pendingMove.directory, known)
    if (isAround) {
      pending.rechecks.add(directory, name)
      pending.rechecks.add(pendingMove.directory, pendingMove.name)
      this.giveUp(pendingMove)
      return false
    }
    if (this.#isHiddenAt(event, pendingMove.entry)) this.giveUp(pendingMove)
    else this.#pair(event, pendingMove, known)
    return true
  }

  /** Notes that a name was made or removed in a directory. */
  noteMade(directory: Directory): void {
    this.#cameOver.delete(directory)
  }

  /** Ends a departure for which no arrival will come: the entry has left the tree. */
  giveUp(pendingMove: PendingMove): void {
    const { pending } = this.#context
    const { directory, name, entry, mask } = pendingMove
    const counts = pending.moves.counts(pendingMove)
    pending.moves.delete(pendingMove)
    if (!counts) return
    // A link to the same directory cannot be told from the one that left, and may have come before, as by an exchange.
    const isLink = entry instanceof Directory && isLinkBase(entry)
    if (isLink || pendingMove.isInDoubt) pending.rechecks.add(directory, name)
    pending.scans.noteEvent(directory, name, entry)
    this.#editor.delete({ directory, name, entry }, mask)
  }

  #pair(event: DueEvent, pendingMove: PendingMove, displaced: Entry | undefined): void {
    const { index, i, directory, mask, name } = event
    const { moves, rechecks, scans, failed } = this.#context.pending
    const { entry } = pendingMove
    let known = displaced
    moves.delete(pendingMove)
    let wayBack = known && findExchange(index, i, entry, known)
    if (known !== undefined && wayBack !== undefined && this.#isHiddenAt(pendingMove, known)) {
      // The known entry goes to an ignored name: it is reported as deleted.
      index.done.add(wayBack.leaving).add(wayBack.arriving)
      this.#editor.delete({ directory, name, entry: known }, wayBack.mask)
      known = undefined
      wayBack = undefined
    }
    // The entry that the first half displaced may be here: that was not reported, and the recheck finds it.
    const isLateWayBack = this.#isWayBack(pendingMove, directory, name)
    const seen = wayBack === undefined && !isLateWayBack ? index.seenOf(i) : undefined
    const isInDoubt = isLateWayBack || rechecks.mayBeSwapped(pendingMove.directory, pendingMove.name)
    const placed = this.#asSeen(entry, directory, seen)
    const both = mask | pendingMove.mask
    // No look can tell that an entry that was never seen is another.
    const isUntold =
      (isInDoubt && entry.ino === 0) ||
      // The look is ahead of an event that may be lost, or that there may not be, as others have written the file.
      (keepsStat(directory) && seen && isOther(entry, seen)) ||
      rechecks.mayBeWritten(directory, name) ||
      rechecks.mayBeWritten(pendingMove.directory, pendingMove.name) ||
      this.#mayBeShown(pendingMove, directory, name, known) ||
      // Or one of the two comes out of a directory that is still to be read, where it may have been written.
      failed.covers(pendingMove.directory) ||
      failed.covers(directory)
    // True: a look ahead of the exchange has shown the known entry; the exchange moved another from here.
    const isAhead =
      known !== undefined && wayBack !== undefined && isToEvents(known) !== ((wayBack.mask & IN_ISDIR) !== 0)
    if (known !== undefined && wayBack !== undefined) {
      index.done.add(wayBack.leaving).add(wayBack.arriving)
      const back = this.#asSeen(known, pendingMove.directory, undefined)
      const circle = [
        { ...pendingMove, as: placed },
        { directory, name, entry: known, as: back },
      ]
      this.#editor.rotate(circle, both | wayBack.mask)
      this.#hasMoved(back, directory, pendingMove.directory, pendingMove.name)
      if (isUntold && back.kind !== 'directory')
        this.#editor.alter('modify', pendingMove.directory, pendingMove.name, back)
      // The events may be older than a listing: then its entries are not where the events say.
      scans.noteEvent(directory, name, known)
      scans.noteEvent(pendingMove.directory, pendingMove.name, entry)
      for (const each of [placed, back]) scans.noteExchanged(each)
      this.#leaveTwins(pendingMove)
    } else {
      scans.noteEvent(directory, name, known)
      this.#editor.rename(pendingMove, directory, name, placed, both)
    }
    if (isUntold && placed.kind !== 'directory') this.#editor.alter('modify', directory, name, placed)
    const isOutdated = scans.isAheadOf(directory) || scans.isAheadOf(pendingMove.directory)
    // This may be an exchange with an entry outside, or one whose other half comes too late: see findExchange.
    const isOver = known instanceof Directory
    // If a listing had shown this exchange already, the events have now reversed it.
    const isStale = isOutdated && wayBack !== undefined
    if (isInDoubt || isStale) {
      rechecks.addSwapped(directory, name)
      rechecks.addSwapped(pendingMove.directory, pendingMove.name)
    } else if (isOutdated || isOver || isAhead) {
      rechecks.add(directory, name)
      rechecks.add(pendingMove.directory, pendingMove.name)
    }
    if (known !== undefined && wayBack === undefined) {
      const { directory: from, name: left } = pendingMove
      this.#cameOver.set(directory, { name, from: { directory: from, name: left } })
    }
    this.#hasMoved(placed, pendingMove.directory, directory, name)
  }

  /** Ends the departures by other paths of the same wd: the exchange has filled their places there as well, and no more events will report that. */
  #leaveTwins({ cookie }: PendingMove): void {
    const { moves, rechecks } = this.#context.pending
    for (let twin = moves.of(cookie); twin !== undefined; twin = moves.of(cookie)) {
      rechecks.add(twin.directory, twin.name)
      // A file may be written where it is now and be back before the recheck: no event would report that at this name.
      if (twin.entry instanceof Directory) moves.delete(twin)
      else this.giveUp(twin)
    }
  }

  /**
   * Returns true if a listing may have shown this file before the event: then it may have been written before its directory was watched for that.
   * A file without an inode number was reported as made or written by an event, and all that was done to it since by other events.
   */
  #mayBeShown({ entry }: PendingMove, directory: Directory, name: string, known: Entry | undefined): boolean {
    const { scans } = this.#context.pending
    if (!scans.isAheadOf(directory) || entry.ino === 0) return false
    const isSeen = known !== undefined && known.kind !== 'directory' && known.ino !== 0
    return (isSeen && mayBeSame(known, entry)) || scans.hadShown(directory, name, entry)
  }

  #isHiddenAt({ directory, name }: Place, { kind }: Entry): boolean {
    const { rules } = this.#context
    return rules.hidesSome && rules.hides(this.#editor.pathOf(directory, name), kind)
  }

  /** Returns true if the entry that had come over another one goes back to its earlier place, as in an exchange. */
  #isWayBack({ cameFrom }: PendingMove, directory: Directory, name: string): boolean {
    return cameFrom?.directory === directory && cameFrom.name === name
  }

  /**
   * Returns the entry as it has arrived: as seen there, unless that is of another kind. By its inode number it may well be another: where a poll looks as
   * well, an earlier look was as much ahead of its event. Where no poll looks, another event reports the difference, or the recheck that this leads to.
   */
  #asSeen(entry: Entry, directory: Directory, seen: Entry | null | undefined): Entry {
    if (entry instanceof Directory) return entry
    const isUnseen = entry.ino === 0 && (entry.kind === 'directory') === (seen?.kind === 'directory')
    const fits = seen && (keepsStat(directory) ? entry.kind === seen.kind : mayBeSame(entry, seen))
    return kept(directory, seen && (isUnseen || fits) ? seen : entry)
  }

  /** Lists a moved directory if needed: other paths may be ignored below its new name, and a listing by its old name has not found it. */
  #hasMoved(entry: Entry, from: Directory, directory: Directory, name: string): void {
    const { tree, rules, pending } = this.#context
    // A relative link may lead elsewhere from here.
    if (isSymlink(entry) && rules.followsLinks) pending.work.look(directory, name)
    if (!(entry instanceof Directory)) return
    pending.failed.carry(entry, from)
    if (rules.hidesSome) for (const each of tree.within(entry)) pending.work.list(each)
    else if (!entry.isListed || isUnwatched(entry)) pending.work.list(entry)
  }
}

/** Returns true if a look has shown another file than was reported at the name that it left, or the same with other content. */
function isOther(before: Entry, seen: Entry): boolean {
  if (before.ino === 0) return false
  return (
    !mayBeSame(before, seen) || (before.stat !== undefined && alterationOfMoved(before, seen) !== undefined)
  )
}
