import type { EventBatch } from '../../inotify/batch.ts'
import { IN_IGNORED } from '../../inotify/constants.ts'
import type { DiffOptions } from '../diff/diff_options.ts'
import type { Looker, StatResults } from '../diff/looker.ts'
import type { Look, Rescan } from '../diff/rescan.ts'
import type { Pending } from '../pending/pending.ts'
import type { PendingMove } from '../pending/pending_moves.ts'
import type { RecheckQueue } from '../pending/recheck_queue.ts'
import type { WorkList } from '../pending/work_list.ts'
import type { Change } from '../report/change.ts'
import { isShortage } from '../report/watch_error.ts'
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
  pending: Pick<Pending, 'movedBetween'>
  rechecks: RecheckQueue
  work: WorkList
  options(options: Partial<DiffOptions>): DiffOptions
  report(changes: Change[]): void
  /** The top of a root is gone, moved or unmounted. */
  lost(top: Directory): void
  trouble(error: unknown): void
}

/** By wd. */
type Names = ReadonlyMap<number, ReadonlySet<string>>

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
  // That something is short has been said.
  #isShort = false
  /** Whether there have been any since the last {@link hold}. */
  isActive = false

  constructor(parts: EventHandlerParts) {
    this.#parts = parts
  }

  async handle(batch: EventBatch, start: number, end: number): Promise<void> {
    this.isActive = true
    const read = { batch, start, end }
    const held = this.#takeUnfinished()
    await this.#handle(held === undefined ? read : wholeOf(new JoinedBatch(held, read)), true)
  }

  /** A mark has been met: whoever waits for it believes that all that was queued before it has been told. */
  async flush(): Promise<void> {
    const held = this.#takeUnfinished()
    if (held !== undefined) await this.#handle(held, false)
  }

  /** Whether some of what was read is still to be told. */
  get holdsBack(): boolean {
    return this.#unfinished !== undefined
  }

  /** An overflow: what was held back is lost with it, and what looks were ahead of may be; the rescan finds it. */
  onOverflow(): void {
    this.#unfinished = undefined
    this.#parts.translator.unconfirmed.revert()
  }

  #takeUnfinished(): BatchSlice | undefined {
    const held = this.#unfinished
    this.#unfinished = undefined
    return held
  }

  /** @param mayWait whether an exchange at the end of these may be told to its end by the next read */
  async #handle({ batch, start, end }: BatchSlice, mayWait: boolean): Promise<void> {
    const { tree } = this.#parts
    let next = start
    for (let i = start; i < end; i++) {
      // What is told behind it is not told of the root any more.
      if (!(batch.mask(i) & GONE) || !tree.at(batch.wd(i)).some(({ isRoot }) => isRoot)) continue
      await this.#take({ batch, start: next, end: i + 1 }, false)
      next = i + 1
    }
    if (next < end) await this.#take({ batch, start: next, end }, mayWait)
  }

  async #take({ batch, start, end }: BatchSlice, mayWait: boolean): Promise<void> {
    const index = this.#viewOf(batch, start, end)
    const open = index.open()
    const looks = await this.#look(open)
    const from = mayWait && index.hasDepartures ? this.#beginOfUnfinished(index, looks) : undefined
    if (from === undefined) return await this.#tell(index, open, looks)
    this.#unfinished = { batch, start: from, end }
    if (from === start) return
    const before = this.#viewOf(batch, start, from)
    const openBefore = before.open()
    // What was seen at the names of which the rest speaks is what that has made of them.
    for (const [wd, names] of this.#viewOf(batch, from, end).named) {
      for (const name of names.keys()) {
        looks.get(wd)?.delete(name)
        openBefore.get(wd)?.delete(name)
      }
    }
    await this.#tell(before, openBefore, looks)
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
    const seen = open.size === 0 ? undefined : await this.#unlessShort(() => this.#parts.looker.look(open))
    return seen ?? new Map()
  }

  #beginOfUnfinished(index: BatchView, looks: StatResults): number | undefined {
    const { tree } = this.#parts
    return findUnfinishedExchange(index, {
      mayBeThere: (wd, name) => tree.at(wd).length > 0 && looks.get(wd)?.get(name) !== null,
      isBelieved: (wd, name) => tree.at(wd).some((directory) => tree.entriesOf(directory).has(name)),
    })
  }

  async #tell(index: BatchView, open: Names, looks: StatResults): Promise<void> {
    const { translator, report } = this.#parts
    const { batch, start, end } = index
    // Behind the look: a poll that began while it was made may have listed something older.
    if (this.eventNames !== undefined) this.#touch(index, this.eventNames)
    this.#speakOf(index)
    report(translator.translate(index, (wd, name) => looks.get(wd)?.get(name)))
    for (let i = start; i < end; i++) {
      if (batch.mask(i) & GONE && index.name(i) === '') this.#onSelf(batch.wd(i), batch.mask(i))
    }
    this.#weigh(open, looks)
    await this.list()
  }

  /** Departures and listings of which every event will have been told when the next mark in the queue has been met. */
  hold(): () => Promise<void> {
    const { translator, rechecks, pending } = this.#parts
    const { movedBetween } = pending
    const pendingMoves: PendingMove[] = translator.pending
    const releaseListed = translator.listed.hold()
    const moved = [...movedBetween]
    movedBetween.clear()
    const confirm = this.holdLooks()
    this.isActive = false
    return async () => {
      if (!rechecks.isEmpty || !translator.listed.isEmpty) this.#doubtMoved([...moved, ...movedBetween])
      releaseListed()
      this.#parts.report(translator.giveUp(pendingMoves))
      confirm()
      await this.list()
    }
  }

  /** What looks have shown is believed no more, if it has not been told, when the next mark in the queue has been met. */
  holdLooks(): () => void {
    const { translator } = this.#parts
    return translator.unconfirmed.hold(
      (directory, name) => translator.hasLeft(directory, name) || translator.isOnItsWay(directory),
    )
  }

  /**
   * Looks at what is in doubt. What was seen counts if no event of the name has come by the time that all that was queued before the
   * look has been told: otherwise it is ahead of the events, and is looked at again.
   */
  async lookAgain(): Promise<(() => Promise<void>) | undefined> {
    const { rechecks, rescan, looker, tree, translator, options } = this.#parts
    if (rechecks.isEmpty) return undefined
    const questions = rechecks.begin()
    const seen = await this.#unlessShort(() => looker.lookAt(questions))
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
        const isElsewhere = listing.isGone || isAnother || translator.isOnItsWay(directory)
        if (isElsewhere) {
          rechecks.renew(directory, names)
          if (directory.parent !== undefined) rechecks.add(directory.parent, directory.name)
        } else if (listing.error === 0) {
          found.push({ directory, names, listing, spoken: spokenIn(directory) })
          // What cannot be read for other reasons is not covered, and is listed when its mode changes.
        } else if (listing.isShort) rechecks.renew(directory, names)
      }
      for (const look of found) this.#keepWhatIsBack(look)
      await rescan.takeIn(found, options({}))
      await this.list()
    }
  }

  /** All that was queued before the look has been told, and what has left was there: it had not left. */
  #keepWhatIsBack({ directory, names, listing, spoken }: Look): void {
    const { tree, translator, report } = this.#parts
    if (!translator.isPending || !tree.isAttached(directory)) return
    const seen = listing.entries()
    for (const name of names ?? seen.keys()) {
      const ino = seen.get(name)?.ino
      const isBack = ino !== undefined && tree.entriesOf(directory).get(name)?.ino === ino
      if (isBack && !spoken.has(name)) report(translator.keep(directory, name))
    }
  }

  get isUnsettled(): boolean {
    const { translator, rechecks, work } = this.#parts
    const isOpen = translator.isPending || !translator.listed.isEmpty || !rechecks.isEmpty
    return this.isActive || isOpen || !translator.unconfirmed.isEmpty || !work.isEmpty
  }

  /**
   * What was listed while directories moved may have been found by a path that had become another's; and the events of an exchange
   * with what lies outside come in an order that tells of something else. So where anything is in doubt besides, all concerned are listed
   * once more. A rename that fits what is believed costs nothing.
   */
  #doubtMoved(moved: readonly Directory[]): void {
    const { rechecks, translator } = this.#parts
    if (moved.length === 0) return
    for (const each of [...moved, ...translator.listed.all])
      if (each instanceof Directory) rechecks.addAll(each)
  }

  /** Nothing is found, and all stays as it was, while there is no thread or descriptor to look with. */
  async #unlessShort<T>(look: () => Promise<T>): Promise<T | undefined> {
    try {
      const found = await look()
      this.#isShort = false
      return found
    } catch (error) {
      if (!isShortage(error)) throw error
      if (!this.#isShort) this.#parts.trouble(error)
      this.#isShort = true
      return undefined
    }
  }

  /** Lists what is new, and what may be another now. */
  async list(): Promise<void> {
    const { tree, work, rescan, options, translator } = this.#parts
    if (work.isEmpty) return
    // What is on its way is listed where it arrives.
    const { directories, names } = work.take((directory) => translator.isOnItsWay(directory))
    for (const directory of directories) if (!tree.isAttached(directory)) directories.delete(directory)
    for (const directory of names.keys()) if (!tree.isAttached(directory)) names.delete(directory)
    if (directories.size === 0 && names.size === 0) return
    const done = await this.#unlessShort(async () => {
      await rescan.list([...directories], names, options({}))
      return true
    })
    if (done) return
    for (const directory of directories) work.list(directory)
    for (const [directory, some] of names) for (const name of some) work.look(directory, name)
  }

  #onSelf(wd: number, mask: number): void {
    const { tree, rechecks, lost } = this.#parts
    for (const directory of tree.at(wd)) {
      const { parent, name } = directory
      if (mask & IN_IGNORED) tree.loseWatch(directory)
      if (directory.isRoot) lost(directory)
      // Its parent tells that it is gone. If it does not, it is not.
      else if (parent !== undefined && mask & IN_IGNORED) rechecks.add(parent, name)
    }
  }

  #speakOf(index: BatchView): void {
    const { tree, rechecks } = this.#parts
    for (const [wd, names] of index.named) {
      for (const directory of tree.at(wd))
        for (const name of names.keys()) rechecks.noteEvent(directory, name)
    }
  }

  /** Takes names into doubt by what was seen after their events were made. */
  #weigh(open: Names, looks: StatResults): void {
    const { tree, rechecks, translator } = this.#parts
    for (const [wd, names] of open) {
      const seen = looks.get(wd)
      for (const directory of tree.at(wd)) {
        const entries = tree.entriesOf(directory)
        for (const name of names) {
          const believed = translator.hasLeft(directory, name) ? undefined : entries.get(name)
          const found = seen?.get(name)
          if (!this.#fits(directory, name, believed, found)) rechecks.add(directory, name)
          // What was told is told after this look: a poll finds what is different from now on.
          else if (believed && found && keepsStat(directory)) {
            translator.unconfirmed.note(directory, name, believed, found)
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
