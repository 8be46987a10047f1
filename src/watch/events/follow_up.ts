import { CLOCK_SLACK_MS } from '../clock.ts'
import type { Look } from '../diff/rescan.ts'
import type { NamesOf } from '../pending/dirty_set.ts'
import type { PendingMove } from '../pending/pending_moves.ts'
import type { Questions } from '../pending/recheck_queue.ts'
import { mayPass } from '../report/watch_error.ts'
import type { Listing } from '../scan/listing.ts'
import { Directory, isLinkBase } from '../tree/directory.ts'
import type { EventsContext } from './context.ts'

/** Does what events have left to be done: lists directories, looks again at names in doubt, and gives up renames whose other half does not come. */
export class FollowUp {
  readonly #context: EventsContext

  constructor(context: EventsContext) {
    this.#context = context
  }

  /** Takes the present departures and listings. Returns what to call at the next mark in the queue, when all their events have been reported. */
  hold(): () => Promise<void> {
    const { pending, reporter, translator } = this.#context
    const { movedBetween, rechecks, scans } = pending
    const pendingMoves: PendingMove[] = [...pending.moves]
    const releaseScans = scans.hold()
    const moved = [...movedBetween]
    movedBetween.clear()
    pending.unmarked = 0
    return async () => {
      if (!rechecks.isEmpty || !scans.isEmpty) this.#doubtMoved([...moved, ...movedBetween])
      reporter.report(translator.giveUp(pendingMoves))
      releaseScans()
      await this.list()
    }
  }

  /**
   * Looks at the names in doubt. A look counts if no event of the name has come by the time that all events queued before the look have been
   * translated. Otherwise the look is ahead of the events, and is repeated.
   */
  async lookAgain(): Promise<(() => Promise<void>) | undefined> {
    const { pending, looker, shortage } = this.#context
    const { rechecks } = pending
    if (rechecks.isEmpty) return undefined
    const questions = rechecks.begin()
    const seen = new Map<Directory, Listing>()
    if (await shortage.unless(pending, () => looker.lookAt(questions, seen)))
      return () => this.#answer(questions, seen)
    rechecks.end(questions)
    return undefined
  }

  async #answer(questions: Questions, seen: ReadonlyMap<Directory, Listing>): Promise<void> {
    const { pending, rescan, tree, shortage } = this.#context
    const { rechecks } = pending
    if (!rechecks.end(questions)) return
    const found: Look[] = []
    for (const [directory, names] of questions) {
      const listing = seen.get(directory)
      if (listing === undefined || !tree.isPresent(directory)) rechecks.settle(directory)
      else if (this.#mayCount(directory, listing))
        found.push({ directory, names, listing, spoken: rechecks.spokenIn(directory) })
    }
    for (const look of found) this.#keepWhatIsBack(look)
    const isTaken = await shortage.unless(pending, () => rescan.takeIn(found))
    for (const { directory } of isTaken ? found : []) this.#settle(directory)
  }

  /** Returns true if a listing shows what is in a directory. If not, the directory is put in doubt itself, or is to be listed, or cannot be looked into. */
  #mayCount(directory: Directory, listing: Listing): boolean {
    const { pending } = this.#context
    const { rechecks, moves } = pending
    const isAnother = listing.error === 0 && directory.ino !== 0 && directory.ino !== listing.ino
    if (listing.isGone || isAnother || moves.above(directory) !== undefined) {
      if (directory.parent !== undefined) rechecks.add(directory.parent, directory.name)
      return false
    }
    const isWatchedAnew = listing.wd > 0 && listing.wd !== directory.wd
    if (listing.error === 0 && !isWatchedAnew) return true
    // Events of a new wd could not be assigned to the directory until now.
    if (isWatchedAnew) pending.work.list(directory)
    else if (listing.isShort) return false
    // A directory that we may not read is uncovered, and is listed when its mode changes.
    else if (mayPass(-listing.error) && directory.mount.usesInotify)
      pending.failed.list(directory, pending.consistentUntil - CLOCK_SLACK_MS)
    this.#settle(directory)
    return false
  }

  #settle(directory: Directory): void {
    const { pending, reporter, translator } = this.#context
    reporter.report(translator.tellWritten(directory, pending.rechecks.settle(directory)))
  }

  /** Cancels departures of entries that the look has seen in place, as all earlier events are translated; and notes swapped names where no entry is known. */
  #keepWhatIsBack({ directory, names, listing, spoken }: Look): void {
    const { tree, pending } = this.#context
    const { moves, rechecks } = pending
    if ((moves.isEmpty && !rechecks.hasHints) || !tree.isAttached(directory)) return
    const seen = listing.entries()
    for (const name of names ?? seen.keys()) {
      const found = seen.get(name)
      if (found === undefined || spoken.has(name)) continue
      const believed = tree.entriesOf(directory).get(name)
      if (believed === undefined) rechecks.noteWritten(directory, name)
      const isLink = believed instanceof Directory && isLinkBase(believed)
      const isBack = isLink ? believed.mount.mayBeLink(found) : believed?.ino === found.ino
      const left = isBack ? moves.from(directory, name) : undefined
      if (left !== undefined) moves.delete(left)
    }
  }

  /**
   * Takes the directories concerned into doubt. What was listed while directories moved may have been found by a path that had become another's; and the events
   * of an exchange with an entry outside come in an order that means something else. The caller does this only if anything else is in doubt: a rename that fits
   * what is known costs nothing.
   */
  #doubtMoved(moved: readonly Directory[]): void {
    const { rechecks, scans } = this.#context.pending
    if (moved.length === 0) return
    for (const each of [...moved, ...scans.all]) if (each instanceof Directory) rechecks.addAll(each)
  }

  /** Lists the directories that are new or may be others now, and looks at names. */
  async list(): Promise<void> {
    const { pending, shortage } = this.#context
    const { work, moves } = pending
    if (work.size === 0) return
    // A directory on its way is listed where it arrives.
    const { directories, names } = work.take((directory) => moves.above(directory) !== undefined)
    if (await shortage.unless(pending, () => this.#list(directories, names))) return
    for (const [directory, since] of directories) work.list(directory, since)
    for (const [directory, some] of names) for (const name of some) work.look(directory, name)
  }

  /** Makes a scan for each `since`, the earliest first: else an entry that another scan reports as new would be reported as written as well. */
  async #list(directories: ReadonlyMap<Directory, number>, names: NamesOf): Promise<void> {
    const { tree, rescan } = this.#context
    const isPresent = ([directory]: [Directory, unknown]) => tree.isPresent(directory)
    const moments = new Set(directories.values())
    if (names.size > 0) moments.add(Number.POSITIVE_INFINITY)
    for (const since of [...moments].sort((a, b) => a - b)) {
      // The scan before may have found that some are gone.
      const due = [...directories].filter((each) => each[1] === since).filter(isPresent)
      const looks = since === Number.POSITIVE_INFINITY ? [...names].filter(isPresent) : []
      const listed = due.map(([directory]) => directory)
      if (due.length > 0 || looks.length > 0) await rescan.list(listed, new Map(looks), since)
    }
  }
}
