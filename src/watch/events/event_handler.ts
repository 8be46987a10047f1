import type { EventBatch } from '../../inotify/batch.ts'
import { IN_IGNORED } from '../../inotify/constants.ts'
import type { Looker } from '../diff/snapshot/looker.ts'
import type { Pending } from '../pending/pending.ts'
import type { Reporter } from '../report/reporter.ts'
import type { Shortage } from '../report/shortage.ts'
import type { Rules } from '../rules.ts'
import { type Entry, mayBeSame } from '../scan/entry.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import { Directory, isLinkBase } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { BatchView, type OpenNames } from './batch_view.ts'
import type { FollowUp } from './follow_up.ts'
import { type BatchSlice, JoinedBatch } from './joined_batch.ts'
import type { Translator } from './translator.ts'
import { findUnfinishedExchange } from './unfinished_exchange.ts'
import { GONE } from './watch_mask.ts'

export interface EventHandlerParts {
  tree: Tree
  translator: Translator
  looker: Pick<Looker, 'look'>
  rules: Rules
  pending: Pending
  reporter: Pick<Reporter, 'report'>
  shortage: Shortage
  followUp: Pick<FollowUp, 'noteEvents' | 'list'>
}

/** Events have told that roots are gone, moved or unmounted. */
export interface GoneRoots {
  readonly tops: readonly Directory[]
  /** Of the event that has told so. */
  readonly mask: number
  /** The names of which those that have been told leave open what is there, and what was seen at them. */
  readonly told: OpenNames | undefined
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
  #recorded: Map<Directory, Set<string>> | undefined
  // From the first event of an exchange on of which the rest is still to be read: as if it had not been read.
  #unfinished: BatchSlice | undefined

  constructor(parts: EventHandlerParts) {
    this.#parts = parts
  }

  /** The answer: roots that are gone by then, of which nothing more is told once they are known to be lost; {@link goOn} does the rest. */
  handle(batch: EventBatch, start: number, end: number): Promise<GoneRoots | undefined> {
    this.#parts.followUp.noteEvents()
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

  /** Notes from now on, until {@link stopRecording}, of which names events speak: what a poll that is under way lists of them may be out of date. */
  recordNames(): ReadonlyMap<Directory, ReadonlySet<string>> {
    this.#recorded = new Map()
    return this.#recorded
  }

  stopRecording(): void {
    this.#recorded = undefined
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
    // Before the rest is viewed: thousands of roots may go together, each with a rest of its own.
    for (let i = start; i < end; i++) {
      if (!(batch.mask(i) & GONE)) continue
      const tops = tree.at(batch.wd(i)).filter(({ isRoot }) => isRoot)
      if (tops.length === 0) continue
      const told = await this.#take(this.#viewOf(batch, start, i + 1), false)
      return { tops, mask: batch.mask(i), told, rest: { batch, start: i + 1, end }, mayWait }
    }
    await this.#follow(await this.#take(this.#viewOf(batch, start, end), mayWait))
    return undefined
  }

  async #take(index: BatchView, mayWait: boolean): Promise<OpenNames | undefined> {
    const { batch, start, end } = index
    await this.#look(index.open)
    const from = mayWait && index.hasDepartures ? this.#beginOfUnfinished(index) : undefined
    if (from === undefined) return this.#tell(index)
    this.#unfinished = { batch, start: from, end }
    if (from === start) return undefined
    const before = this.#viewOf(batch, start, from)
    before.takeSeen(index, this.#viewOf(batch, from, end))
    return this.#tell(before)
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

  async #look(open: OpenNames): Promise<void> {
    const { looker, pending, shortage } = this.#parts
    if (open.size > 0) await shortage.unless(pending, () => looker.look(open))
  }

  #beginOfUnfinished(index: BatchView): number | undefined {
    const { tree } = this.#parts
    return findUnfinishedExchange(index, {
      mayBeThere: (i) => tree.at(index.batch.wd(i)).length > 0 && index.seen(i) !== null,
      isBelieved: (wd, name) => tree.at(wd).some((directory) => tree.entriesOf(directory).has(name)),
    })
  }

  #tell(index: BatchView): OpenNames {
    const { translator, reporter } = this.#parts
    const { batch } = index
    // Behind the look: a poll that began while it was made may have listed something older.
    if (this.#recorded !== undefined) this.#record(index, this.#recorded)
    // What was looked at, too: a look of the recheck queue that is under way may be older than that.
    this.#speakOf(index)
    reporter.report(translator.translate(index))
    for (const i of index.gone) if (index.name(i) === '') this.#onSelf(batch.wd(i), batch.mask(i))
    return index.open
  }

  /** What follows from events that have been told: doubts, and directories to be listed. */
  async #follow(told: OpenNames | undefined): Promise<void> {
    if (told !== undefined) this.#weigh(told)
    await this.#parts.followUp.list()
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

  #speakOf({ named }: BatchView): void {
    const { tree, pending } = this.#parts
    if (pending.rechecks.isEmpty) return
    for (const [wd, names] of named) {
      for (const directory of tree.at(wd))
        for (const name of names.keys()) pending.rechecks.noteEvent(directory, name)
    }
  }

  /** Takes names into doubt by what was seen after their events were made. */
  #weigh(open: OpenNames): void {
    const { tree, pending } = this.#parts
    const { moves, rechecks, unconfirmed } = pending
    for (const [wd, names] of open) {
      for (const directory of tree.at(wd)) {
        const entries = tree.entriesOf(directory)
        for (const { name, seen: found } of names) {
          const hasLeft = moves.size > 0 && moves.from(directory, name) !== undefined
          const believed = hasLeft ? undefined : entries.get(name)
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

  #record(index: BatchView, recorded: Map<Directory, Set<string>>): void {
    for (let i = index.start; i < index.end; i++) {
      const name = index.name(i)
      for (const directory of name === '' ? [] : this.#parts.tree.at(index.batch.wd(i))) {
        const names = recorded.get(directory)
        if (names === undefined) recorded.set(directory, new Set([name]))
        else names.add(name)
      }
    }
  }
}

function wholeOf(batch: EventBatch): BatchSlice {
  return { batch, start: 0, end: batch.length }
}
