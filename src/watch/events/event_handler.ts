import type { EventBatch } from '../../inotify/batch.ts'
import { IN_IGNORED } from '../../inotify/constants.ts'
import type { Looker, StatResults } from '../diff/looker.ts'
import type { Look, Rescan } from '../diff/rescan.ts'
import type { Pending } from '../pending/pending.ts'
import type { PendingMove } from '../pending/pending_moves.ts'
import type { Reporter } from '../report/reporter.ts'
import type { Shortage } from '../report/shortage.ts'
import type { Rules } from '../rules.ts'
import { type Entry, mayBeSame } from '../scan/entry.ts'
import { Directory, isLinkBase, keepsStat } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { BatchView } from './batch_view.ts'
import { type BatchSlice, JoinedBatch } from './joined_batch.ts'
import type { Translator } from './translator.ts'
import { findUnfinishedExchange } from './unfinished_exchange.ts'
import { GONE } from './watch_mask.ts'

export interface EventHandlerParts {
  tree: Tree
  translator: Translator
  rescan: Pick<Rescan, 'list' | 'takeIn'>
  looker: Pick<Looker, 'look' | 'lookAt'>
  rules: Rules
  pending: Pending
  reporter: Pick<Reporter, 'report'>
  shortage: Shortage
}

/** By wd. */
type Names = ReadonlyMap<number, ReadonlySet<string>>

/** Events that have been told: the names of which they leave open what is there, and what was seen at them. */
interface Told {
  open: Names
  looks: StatResults
}

/** Events have told that roots are gone, moved or unmounted. */
export interface GoneRoots {
  readonly tops: readonly Directory[]
  readonly told: Told | undefined
  /** What is still to be told. */
  readonly rest: BatchSlice
  readonly mayWait: boolean
}

/**
 * Takes in what inotify tells. Events are hints: they are held against what is believed, so that what a listing has told already is
 * not told again; and where they leave a doubt, the name is looked at.
 */
export class EventHandler {
  readonly #parts: EventHandlerParts
  /** Names that were spoken of while a poll is under way, so that what it lists of them may be out of date. */
  eventNames: Map<Directory, Set<string>> | undefined
  // From the first event of an exchange on of which the rest is still to be read: as if it had not been read.
  #unfinished: BatchSlice | undefined
  /** Whether there have been any since the last {@link hold}. */
  isActive = false

  constructor(parts: EventHandlerParts) {
    this.#parts = parts
  }

  /** The answer: roots that are gone by then, of which nothing more is told once they are known to be lost; {@link goOn} does the rest. */
  handle(batch: EventBatch, start: number, end: number): Promise<GoneRoots | undefined> {
    this.isActive = true
    const read = { batch, start, end }
    const held = this.#takeUnfinished()
    return this.#handle(held === undefined ? read : wholeOf(new JoinedBatch(held, read)), true)
  }

  /** Goes on when it is known that they are lost. The answer is as that of {@link handle}. */
  async goOn({ told, rest, mayWait }: GoneRoots): Promise<GoneRoots | undefined> {
    await this.#follow(told)
    return rest.start < rest.end ? await this.#handle(rest, mayWait) : undefined
  }

  /** A mark has been met: whoever waits for it believes that all that was queued before it has been told. The answer is as that of {@link handle}. */
  async flush(): Promise<GoneRoots | undefined> {
    const held = this.#takeUnfinished()
    return held && (await this.#handle(held, false))
  }

  /** Whether some of what was read is still to be told. */
  get holdsBack(): boolean {
    return this.#unfinished !== undefined
  }

  /** An overflow: what was held back is lost with it, and what looks were ahead of may be; the rescan finds it. */
  onOverflow(): void {
    this.#unfinished = undefined
    this.#parts.pending.unconfirmed.revert()
  }

  #takeUnfinished(): BatchSlice | undefined {
    const held = this.#unfinished
    this.#unfinished = undefined
    return held
  }

  /** @param mayWait whether an exchange at the end of these may be told to its end by the next read */
  async #handle({ batch, start, end }: BatchSlice, mayWait: boolean): Promise<GoneRoots | undefined> {
    const { tree } = this.#parts
    for (let i = start; i < end; i++) {
      if (!(batch.mask(i) & GONE)) continue
      const tops = tree.at(batch.wd(i)).filter(({ isRoot }) => isRoot)
      if (tops.length === 0) continue
      const told = await this.#take({ batch, start, end: i + 1 }, false)
      return { tops, told, rest: { batch, start: i + 1, end }, mayWait }
    }
    await this.#follow(await this.#take({ batch, start, end }, mayWait))
    return undefined
  }

  async #take({ batch, start, end }: BatchSlice, mayWait: boolean): Promise<Told | undefined> {
    const index = this.#viewOf(batch, start, end)
    const open = index.open()
    const looks = await this.#look(open)
    const from = mayWait && index.hasDepartures ? this.#beginOfUnfinished(index, looks) : undefined
    if (from === undefined) return this.#tell(index, open, looks)
    this.#unfinished = { batch, start: from, end }
    if (from === start) return undefined
    const before = this.#viewOf(batch, start, from)
    const openBefore = before.open()
    // What was seen at the names of which the rest speaks is what that has made of them.
    for (const [wd, names] of this.#viewOf(batch, from, end).named) {
      for (const name of names.keys()) {
        looks.get(wd)?.delete(name)
        openBefore.get(wd)?.delete(name)
      }
    }
    return this.#tell(before, openBefore, looks)
  }

  #viewOf(batch: EventBatch, start: number, end: number): BatchView {
    const { tree } = this.#parts
    return new BatchView(batch, start, end, (wd) => {
      const polled = tree.at(wd).filter(keepsStat)
      // What is believed of them is otherwise from now on, and no poll has found it so.
      for (const { mount } of polled) mount.revision++
      return polled.length > 0
    })
  }

  async #look(open: Names): Promise<StatResults> {
    const { looker, shortage } = this.#parts
    if (open.size === 0) return new Map()
    return (await shortage.unless(this, () => looker.look(open))) ?? new Map()
  }

  #beginOfUnfinished(index: BatchView, looks: StatResults): number | undefined {
    const { tree } = this.#parts
    return findUnfinishedExchange(index, {
      mayBeThere: (wd, name) => tree.at(wd).length > 0 && looks.get(wd)?.get(name) !== null,
      isBelieved: (wd, name) => tree.at(wd).some((directory) => tree.entriesOf(directory).has(name)),
    })
  }

  #tell(index: BatchView, open: Names, looks: StatResults): Told {
    const { translator, reporter } = this.#parts
    const { batch, start, end } = index
    // Behind the look: a poll that began while it was made may have listed something older.
    if (this.eventNames !== undefined) this.#touch(index, this.eventNames)
    // What was looked at, too: a look of the recheck queue that is under way may be older than that.
    for (const each of [index.named, open]) this.#speakOf(each)
    reporter.report(translator.translate(index, (wd, name) => looks.get(wd)?.get(name)))
    for (let i = start; i < end; i++) {
      if (batch.mask(i) & GONE && index.name(i) === '') this.#onSelf(batch.wd(i), batch.mask(i))
    }
    return { open, looks }
  }

  /** What follows from events that have been told: doubts, and directories to be listed. */
  async #follow(told: Told | undefined): Promise<void> {
    if (told !== undefined) this.#weigh(told.open, told.looks)
    await this.list()
  }

  /** Departures and listings of which every event will have been told when the next mark in the queue has been met. */
  hold(): () => Promise<void> {
    const { translator, pending, reporter } = this.#parts
    const { movedBetween, rechecks, scans } = pending
    const pendingMoves: PendingMove[] = [...pending.moves]
    const releaseScans = scans.hold()
    const moved = [...movedBetween]
    movedBetween.clear()
    const confirm = this.holdLooks()
    this.isActive = false
    return async () => {
      if (!rechecks.isEmpty || !scans.isEmpty) this.#doubtMoved([...moved, ...movedBetween])
      releaseScans()
      reporter.report(translator.giveUp(pendingMoves))
      confirm()
      await this.list()
    }
  }

  /** What looks have shown is believed no more, if it has not been told, when the next mark in the queue has been met. */
  holdLooks(): () => void {
    const { moves, unconfirmed } = this.#parts.pending
    return unconfirmed.hold(
      (directory, name) => moves.from(directory, name) !== undefined || moves.above(directory) !== undefined,
    )
  }

  /**
   * Looks at what is in doubt. What was seen counts if no event of the name has come by the time that all that was queued before the
   * look has been told: otherwise it is ahead of the events, and is looked at again.
   */
  async lookAgain(): Promise<(() => Promise<void>) | undefined> {
    const { pending, rescan, looker, tree, shortage } = this.#parts
    const { rechecks, moves } = pending
    if (rechecks.isEmpty) return undefined
    const questions = rechecks.begin()
    const seen = await shortage.unless(this, () => looker.lookAt(questions))
    if (seen === undefined) {
      rechecks.abort(questions)
      return undefined
    }
    return async () => {
      const spokenIn = rechecks.commit(questions)
      // All has been looked at since.
      if (spokenIn === undefined) return
      const found: Look[] = []
      for (const [directory, names] of questions) {
        const listing = seen.get(directory)
        if (listing === undefined || !tree.isAttached(directory)) continue
        const isAnother = listing.error === 0 && directory.ino !== 0 && directory.ino !== listing.ino
        const isElsewhere = listing.isGone || isAnother || moves.above(directory) !== undefined
        if (isElsewhere) {
          rechecks.renew(directory, names)
          if (directory.parent !== undefined) rechecks.add(directory.parent, directory.name)
        } else if (listing.error === 0) {
          found.push({ directory, names, listing, spoken: spokenIn(directory) })
          // What cannot be read for other reasons is not covered, and is listed when its mode changes.
        } else if (listing.isShort) rechecks.renew(directory, names)
      }
      for (const look of found) this.#keepWhatIsBack(look)
      const isTaken = await shortage.unless(this, async () => {
        await rescan.takeIn(found)
        return true
      })
      if (!isTaken) for (const { directory, names } of found) rechecks.renew(directory, names)
      await this.list()
    }
  }

  /** All that was queued before the look has been told, and what has left was there: it had not left. */
  #keepWhatIsBack({ directory, names, listing, spoken }: Look): void {
    const { tree, translator, pending, reporter } = this.#parts
    if (pending.moves.size === 0 || !tree.isAttached(directory)) return
    const seen = listing.entries()
    for (const name of names ?? seen.keys()) {
      const found = seen.get(name)
      const believed = tree.entriesOf(directory).get(name)
      const isLink = believed instanceof Directory && isLinkBase(believed)
      const isBack = found && (isLink ? believed.mount.isLink(found) : believed?.ino === found.ino)
      if (isBack && !spoken.has(name)) reporter.report(translator.keep(directory, name))
    }
  }

  get isUnsettled(): boolean {
    const { moves, scans, rechecks, unconfirmed, work } = this.#parts.pending
    const isOpen = moves.size > 0 || !scans.isEmpty || !rechecks.isEmpty
    return this.isActive || isOpen || !unconfirmed.isEmpty || !work.isEmpty
  }

  /**
   * What was listed while directories moved may have been found by a path that had become another's; and the events of an exchange
   * with what lies outside come in an order that tells of something else. So where anything is in doubt besides, all concerned are listed
   * once more. A rename that fits what is believed costs nothing.
   */
  #doubtMoved(moved: readonly Directory[]): void {
    const { rechecks, scans } = this.#parts.pending
    if (moved.length === 0) return
    for (const each of [...moved, ...scans.all]) if (each instanceof Directory) rechecks.addAll(each)
  }

  /** Lists what is new, and what may be another now. */
  async list(): Promise<void> {
    const { tree, pending, rescan, shortage } = this.#parts
    const { work, moves } = pending
    if (work.isEmpty) return
    // What is on its way is listed where it arrives.
    const { directories, names } = work.take((directory) => moves.above(directory) !== undefined)
    for (const directory of directories) if (!tree.isAttached(directory)) directories.delete(directory)
    for (const directory of names.keys()) if (!tree.isAttached(directory)) names.delete(directory)
    if (directories.size === 0 && names.size === 0) return
    const done = await shortage.unless(this, async () => {
      await rescan.list([...directories], names)
      return true
    })
    if (done) return
    for (const directory of directories) work.list(directory)
    for (const [directory, some] of names) for (const name of some) work.look(directory, name)
  }

  #onSelf(wd: number, mask: number): void {
    const { tree, pending } = this.#parts
    for (const directory of tree.at(wd)) {
      const { parent, name } = directory
      if (mask & IN_IGNORED) tree.loseWatch(directory)
      // Its parent tells that it is gone. If it does not, it is not.
      if (parent !== undefined && mask & IN_IGNORED) pending.rechecks.add(parent, name)
    }
  }

  #speakOf(spoken: ReadonlyMap<number, Pick<ReadonlySet<string>, 'keys'>>): void {
    const { tree, pending } = this.#parts
    for (const [wd, names] of spoken) {
      for (const directory of tree.at(wd))
        for (const name of names.keys()) pending.rechecks.noteEvent(directory, name)
    }
  }

  /** Takes names into doubt by what was seen after their events were made. */
  #weigh(open: Names, looks: StatResults): void {
    const { tree, pending } = this.#parts
    const { moves, rechecks, unconfirmed } = pending
    for (const [wd, names] of open) {
      const seen = looks.get(wd)
      for (const directory of tree.at(wd)) {
        const entries = tree.entriesOf(directory)
        for (const name of names) {
          const hasLeft = moves.from(directory, name) !== undefined
          const believed = hasLeft ? undefined : entries.get(name)
          const found = seen?.get(name)
          if (!this.#fits(directory, name, believed, found)) rechecks.add(directory, name)
          // What was told is told after this look: a poll finds what is different from now on.
          else if (believed && found && keepsStat(directory)) {
            unconfirmed.note(directory, name, believed, found)
            believed.stat = found.stat
          }
        }
      }
    }
  }

  /** Whether what is believed of a name may be what was found there. */
  #fits(
    directory: Directory,
    name: string,
    believed: Entry | undefined,
    found: Entry | null | undefined,
  ): boolean {
    const { rules, tree } = this.#parts
    if (found === undefined) return false
    if (found === null) return believed === undefined
    if (believed === undefined)
      return rules.hidesSome && rules.hides(tree.pathOf(directory, name), found.kind)
    if (believed instanceof Directory && isLinkBase(believed)) return found.kind === 'symlink'
    return mayBeSame(believed, found)
  }

  #touch(index: BatchView, eventNames: Map<Directory, Set<string>>): void {
    for (let i = index.start; i < index.end; i++) {
      const name = index.name(i)
      for (const directory of name === '' ? [] : this.#parts.tree.at(index.batch.wd(i))) {
        const names = eventNames.get(directory)
        if (names === undefined) eventNames.set(directory, new Set([name]))
        else names.add(name)
      }
    }
  }
}

function wholeOf(batch: EventBatch): BatchSlice {
  return { batch, start: 0, end: batch.length }
}
