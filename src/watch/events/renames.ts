import { IN_ISDIR } from '../../inotify/constants.ts'
import type { Pending } from '../pending/pending.ts'
import type { HeldEvent, PendingMove, Place } from '../pending/pending_moves.ts'
import type { Rules } from '../rules.ts'
import { type Entry, mayBeSame } from '../scan/entry.ts'
import { keepsStat, kept } from '../tree/believed_entry.ts'
import { Directory, isLinkBase, isSymlink, isToEvents, isUnwatched, isWithin } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { TreeEditor } from '../tree/tree_editor.ts'
import type { Reading } from './reading.ts'

export interface RenamesParts {
  tree: Tree
  rules: Rules
  pending: Pending
  reading: Reading
  editor: TreeEditor
}

/** An event of the batch at hand whose turn has come. */
export interface DueEvent extends HeldEvent {
  i: number
}

const NONE: readonly HeldEvent[] = []

/**
 * What has left a name and arrives at another. The two halves are paired by cookie, never by adjacency: other events come between them,
 * and a read may end there.
 */
export class Renames {
  readonly #parts: RenamesParts
  // What was held back of what is not on its way any more.
  #released: readonly HeldEvent[] = NONE
  // The name at which something has come over something, of a directory in which nothing has moved, was made or removed since: the kernel locks both directories of
  // an exchange until all its events are queued, so that nothing is in between. `from`: undefined for what has come from elsewhere.
  readonly #cameOver = new WeakMap<Directory, { name: string; from: Place | undefined }>()

  constructor(parts: RenamesParts) {
    this.#parts = parts
  }

  /** Events that are to be told now: they were held back while what they are about was on its way. */
  takeReleased(): readonly HeldEvent[] {
    const released = this.#released
    this.#released = NONE
    return released
  }

  /**
   * A name that left and comes again is another's by now; only the order of its own delete and create is right. The answer: an event that is to be
   * told before.
   */
  vacate(directory: Directory, name: string, arriving: number | undefined): DueEvent | undefined {
    const { tree, pending, reading } = this.#parts
    const departed = pending.moves.from(directory, name)
    // It may come back to where it left.
    if (departed === undefined || departed.cookie === arriving) return undefined
    // Its arrival is queued behind, and is told before: else whoever reads the changes would take the new one for what moved.
    const arrival = reading.arrival(departed.cookie)
    const to = arrival && tree.onlyAt(arrival.wd)
    // Where it goes may itself be on its way.
    if (arrival === undefined || to === undefined || pending.moves.above(to) !== undefined) {
      this.giveUp(departed)
      return undefined
    }
    reading.done(arrival.i)
    const { i, mask, name: as } = arrival
    return { directory: to, i, mask, cookie: departed.cookie, name: as }
  }

  depart(directory: Directory, mask: number, cookie: number, name: string): void {
    const { tree, pending } = this.#parts
    const last = this.#cameOver.get(directory)
    const over = last?.name === name ? last : undefined
    this.#cameOver.delete(directory)
    const entry = tree.entriesOf(directory).get(name)
    // An exchange with what lies outside, or is ignored, has the events of an arrival over something and of a departure from that name: then what leaves is what
    // was there before, and what came is there still.
    if (entry !== undefined && over !== undefined && over.from === undefined)
      pending.rechecks.addSwapped(directory, name)
    if (entry !== undefined && isToEvents(entry) === ((mask & IN_ISDIR) !== 0)) {
      pending.moves.add({ cookie, directory, name, entry, mask, held: [], cameFrom: over?.from })
      return
    }
    if (entry === undefined) pending.rechecks.noteUnbelieved(directory, name)
    pending.rechecks.noteLeft(directory, name, cookie)
    // Something else has taken the name: by an exchange with what lies outside, or since this event, as a listing has shown.
    if (entry !== undefined) pending.rechecks.add(directory, name)
  }

  /** What arrives has left another name; false: it comes from elsewhere, or is not known to have been there. */
  arrive(directory: Directory, i: number, mask: number, cookie: number, name: string): boolean {
    const { tree, rules, pending, editor } = this.#parts
    const pendingMove = pending.moves.of(cookie)
    const known = tree.entriesOf(directory).get(name)
    this.#cameOver.delete(directory)
    if (pendingMove === undefined) {
      if (known !== undefined) this.#cameOver.set(directory, { name, from: undefined })
      return false
    }
    // Nothing takes the place of what it lies in: what is believed is out of date, and is looked at.
    const isAround = known instanceof Directory && isWithin(pendingMove.directory, known)
    if (isAround) {
      pending.rechecks.add(directory, name)
      pending.rechecks.add(pendingMove.directory, pendingMove.name)
      this.giveUp(pendingMove)
      return false
    }
    const { kind } = pendingMove.entry
    if (rules.hidesSome && rules.hides(editor.pathOf(directory, name), kind)) this.giveUp(pendingMove)
    else this.#pair(pendingMove, directory, i, mask, name)
    return true
  }

  /** Something has been made in a directory, or removed. */
  noteMade(directory: Directory): void {
    this.#cameOver.delete(directory)
  }

  /** It has not left after all. */
  keep(pendingMove: PendingMove): void {
    this.#parts.pending.moves.delete(pendingMove)
    this.#release(pendingMove)
  }

  /** Nothing more will come: it has left the tree. */
  giveUp(pendingMove: PendingMove): void {
    const { pending, editor } = this.#parts
    const { directory, name, entry, mask } = pendingMove
    const counts = pending.moves.counts(pendingMove)
    pending.moves.delete(pendingMove)
    // What has been found elsewhere meanwhile, it or something in it, is told there.
    this.#release(pendingMove)
    if (!counts) return
    // What it is believed to have gone into is itself: that is out of date.
    const isOutdated = pendingMove.held.some(({ cookie }) => cookie === pendingMove.cookie)
    // Another link that leads to the same directory is not told from the one that left. It may have come before that, as by an exchange.
    const isLink = entry instanceof Directory && isLinkBase(entry)
    // Of the others with its cookie one may have had its place taken, or be back, and so may this.
    if (isOutdated || isLink || pendingMove.isShared) pending.rechecks.add(directory, name)
    pending.unconfirmed.take(directory, name)
    pending.scans.noteEvent(directory, name, entry)
    editor.delete({ directory, name, entry }, mask)
  }

  #pair(pendingMove: PendingMove, directory: Directory, i: number, mask: number, name: string): void {
    const { tree, pending, reading, editor } = this.#parts
    const { moves, rechecks, scans, unconfirmed, failed } = pending
    const { entry } = pendingMove
    let known = tree.entriesOf(directory).get(name)
    moves.delete(pendingMove)
    let wayBack = known && reading.wayBack(i, entry, known)
    if (known !== undefined && wayBack !== undefined && this.#isHiddenAt(pendingMove, known)) {
      // It goes to where it is ignored: to whoever is told, it is gone.
      reading.done(wayBack.leaving)
      reading.done(wayBack.arriving)
      unconfirmed.take(directory, name)
      editor.delete({ directory, name, entry: known }, wayBack.mask)
      known = undefined
      wayBack = undefined
    }
    const displaced = unconfirmed.take(directory, name)
    const ahead = unconfirmed.take(pendingMove.directory, pendingMove.name)
    if (wayBack !== undefined) unconfirmed.put(pendingMove.directory, pendingMove.name, displaced)
    // What was displaced by the first half may be here: that was not told, and is found by the doubt.
    const isLateWayBack = this.#isWayBack(pendingMove, directory, name)
    const seen = wayBack === undefined && !isLateWayBack ? reading.seen(i) : undefined
    // What may be the other one of an exchange is what it was told as, and not what a look has shown ahead of events: else the look that the doubt leads to
    // would find no difference.
    const isInDoubt = isLateWayBack || rechecks.wasSwapped(pendingMove.directory, pendingMove.name)
    if (!isInDoubt) unconfirmed.put(directory, name, ahead)
    const moved = isInDoubt ? unconfirmed.toldOf(entry, ahead) : entry
    const placed = this.#asSeen(moved, directory, name, seen, isInDoubt)
    const both = mask | pendingMove.mask
    // Of one that nobody has seen, no look can tell that it is another.
    const isUntold =
      (isInDoubt && moved.ino === 0) ||
      rechecks.wasWritten(directory, name) ||
      rechecks.wasWritten(pendingMove.directory, pendingMove.name) ||
      this.#mayBeShown(pendingMove, directory, name, known) ||
      // Or one of the two comes out of what is still to be read, where it may have been written.
      failed.covers(pendingMove.directory) ||
      failed.covers(directory)
    // What a look has shown ahead of the exchange, which moved something else from here.
    const isAhead =
      known !== undefined && wayBack !== undefined && isToEvents(known) !== ((wayBack.mask & IN_ISDIR) !== 0)
    if (known !== undefined && wayBack !== undefined) {
      reading.done(wayBack.leaving)
      reading.done(wayBack.arriving)
      const back = this.#asSeen(known, pendingMove.directory, pendingMove.name, undefined, false)
      editor.exchange(pendingMove, { directory, name, entry: known }, [placed, back], both | wayBack.mask)
      this.#hasMoved(back, directory, pendingMove.directory, pendingMove.name)
      if (isUntold && back.kind !== 'directory')
        editor.alter('modify', pendingMove.directory, pendingMove.name, back)
      // The events may be older than what a listing has shown, which is not where they say then.
      scans.noteEvent(directory, name, known)
      scans.noteEvent(pendingMove.directory, pendingMove.name, entry)
      for (const each of [placed, back]) scans.noteExchanged(each)
      this.#leaveTwins(pendingMove)
    } else {
      scans.noteEvent(directory, name, known)
      editor.rename(pendingMove, directory, name, placed, both)
    }
    if (isUntold && placed.kind !== 'directory') editor.alter('modify', directory, name, placed)
    const isOutdated = scans.isAheadOf(directory) || scans.isAheadOf(pendingMove.directory)
    // It may have been an exchange, whose other half comes too late to be waited for, or with what lies outside: see findExchange.
    const isOver = known instanceof Directory
    // If a listing had shown this exchange already, it has been told once more.
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
    this.#release(pendingMove)
  }

  /** What has left by another path of the same watch has been given another's place there as well, of which nothing more is told. */
  #leaveTwins({ cookie }: PendingMove): void {
    const { moves, rechecks } = this.#parts.pending
    for (let twin = moves.of(cookie); twin !== undefined; twin = moves.of(cookie)) {
      rechecks.add(twin.directory, twin.name)
      // A file may be written where it is now and be back before anybody looks: nothing would tell of that under this name.
      if (twin.entry instanceof Directory) this.keep(twin)
      else this.giveUp(twin)
    }
  }

  /**
   * A listing may have been quicker than the event, and have shown this file as it was then: it may have been written before its directory was watched for that.
   * One without an inode number has been told as made or written by an event, and all that was done to it since by others.
   */
  #mayBeShown({ entry }: PendingMove, directory: Directory, name: string, known: Entry | undefined): boolean {
    const { scans } = this.#parts.pending
    if (!scans.isAheadOf(directory) || entry.ino === 0) return false
    const isSeen = known !== undefined && known.kind !== 'directory' && known.ino !== 0
    return (isSeen && mayBeSame(known, entry)) || scans.hadShown(directory, name, entry)
  }

  #isHiddenAt({ directory, name }: PendingMove, { kind }: Entry): boolean {
    const { rules, editor } = this.#parts
    return rules.hidesSome && rules.hides(editor.pathOf(directory, name), kind)
  }

  /** What was held back while it was on its way. */
  #release({ held }: PendingMove): void {
    if (held.length > 0) this.#released = [...this.#released, ...held]
  }

  /** Whether what was put in the place of something goes back to where it was. */
  #isWayBack({ cameFrom }: PendingMove, directory: Directory, name: string): boolean {
    return cameFrom?.directory === directory && cameFrom.name === name
  }

  /**
   * What it is where it has arrived: what was seen there, unless that is of another kind. By its inode number it may well be another: where a poll looks as
   * well, an earlier look was as much ahead of its event. Where none does, another event tells of it, or the recheck that this leads to.
   *
   * @param isInDoubt it may be another than was told: only what fits by its inode number is taken over
   */
  #asSeen(
    entry: Entry,
    directory: Directory,
    name: string,
    seen: Entry | null | undefined,
    isInDoubt: boolean,
  ): Entry {
    const { unconfirmed } = this.#parts.pending
    if (entry instanceof Directory) return entry
    const isUnseen = entry.ino === 0 && (entry.kind === 'directory') === (seen?.kind === 'directory')
    const isKindEnough = keepsStat(directory) && !isInDoubt
    const fits = seen && (isKindEnough ? entry.kind === seen.kind : mayBeSame(entry, seen))
    const placed = kept(directory, seen && (isUnseen || fits) ? seen : entry)
    if (seen && fits && keepsStat(directory)) unconfirmed.note(directory, name, entry, seen)
    return placed
  }

  /** Below another name, other paths may be ignored. And what was renamed before it could be listed was not to be found. */
  #hasMoved(entry: Entry, from: Directory, directory: Directory, name: string): void {
    const { tree, rules, pending } = this.#parts
    // A relative link may lead elsewhere from here.
    if (isSymlink(entry) && rules.followsLinks) pending.work.look(directory, name)
    if (!(entry instanceof Directory)) return
    pending.failed.carry(entry, from)
    if (rules.hidesSome) for (const each of tree.within(entry)) pending.work.list(each)
    else if (!entry.isListed || isUnwatched(entry)) pending.work.list(entry)
  }
}
