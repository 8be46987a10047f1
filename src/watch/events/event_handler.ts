import type { EventBatch } from '../../inotify/batch.ts'
import { type Entry, mayBeSame } from '../scan/entry.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import { Directory, isLinkBase } from '../tree/directory.ts'
import { BatchView, type OpenNames } from './batch_view.ts'
import type { EventsContext } from './context.ts'
import { GONE } from './watch_mask.ts'

/**
 * Takes in the events of inotify. Events are hints: each is compared with the known tree, so that nothing is reported again that a listing
 * has reported. Where an event leaves a doubt, the name is looked at.
 */
export class EventHandler {
  readonly #context: EventsContext
  #recorded: Map<Directory, Set<string>> | undefined

  constructor(context: EventsContext) {
    this.#context = context
  }

  /**
   * Handles the events from `start` to `end` of a batch.
   *
   * @param onGone called with the top of each root that an event reports as gone, moved or unmounted, and with the mask of that event
   */
  async handle(
    batch: EventBatch,
    start: number,
    end: number,
    onGone: (top: Directory, mask: number) => void,
  ): Promise<void> {
    const { tree, pending, watchLimit, system } = this.#context
    pending.unmarked += end - start
    if (watchLimit !== undefined)
      for (let i = start; i < end; i++) watchLimit.note(batch.wd(i), system.clock.elapsed())
    let next = start
    for (let i = start; i < end; i++) {
      if (!(batch.mask(i) & GONE)) continue
      const tops = tree.at(batch.wd(i)).filter(({ isRoot }) => isRoot)
      if (tops.length === 0) continue
      // No view of the rest yet: thousands of roots may go together, each with a rest of its own.
      const open = await this.#take(batch, next, i + 1)
      for (const top of tops) onGone(top, batch.mask(i))
      this.#weigh(open)
      next = i + 1
    }
    if (next < end) this.#weigh(await this.#take(batch, next, end))
  }

  /** Records from now on, until {@link stopRecording}, the names that events are about: what a poll under way lists of them may be out of date. */
  recordNames(): ReadonlyMap<Directory, ReadonlySet<string>> {
    this.#recorded = new Map()
    return this.#recorded
  }

  stopRecording(): void {
    this.#recorded = undefined
  }

  /** True: a poll is under way, which leaves out these names with all below. */
  get isRecording(): boolean {
    return this.#recorded !== undefined
  }

  /** Notes a name of which an event has told, or a hint: see {@link recordNames}. */
  note(directory: Directory, name: string): void {
    this.#context.pending.rechecks.noteEvent(directory, name)
    const recorded = this.#recorded
    recorded?.set(directory, (recorded.get(directory) ?? new Set()).add(name))
  }

  /** Translates events. Returns the names that they leave open, and what was seen there. */
  async #take(batch: EventBatch, start: number, end: number): Promise<OpenNames> {
    const { tree, looker, pending, shortage, reporter, translator } = this.#context
    const view = new BatchView(batch, start, end, (wd) => {
      const polled = tree.at(wd).filter(keepsStat)
      // These events change what is known of the directories, and no poll has found it so.
      for (const { mount } of polled) mount.revision++
      return polled.length > 0
    })
    const open = view.findOpen()
    if (open.size > 0) await shortage.unless(pending, () => looker.look(open))
    // After the look: a poll, or a look of the recheck queue, that began meanwhile may have seen something older.
    this.#noteNames(view)
    reporter.report(translator.translate(view))
    for (const wd of view.removed) this.#onRemoved(wd)
    return open
  }

  /** Notes that the kernel has removed a watch. The event of its parent's watch reports a removal of the directory. Without such an event the directory is not gone. */
  #onRemoved(wd: number): void {
    const { tree, pending } = this.#context
    for (const directory of tree.at(wd)) {
      const { parent, name } = directory
      tree.loseWatch(directory)
      if (parent !== undefined) pending.rechecks.add(parent, name)
    }
  }

  #noteNames({ named }: BatchView): void {
    const { tree, pending } = this.#context
    if (pending.rechecks.isEmpty && this.#recorded === undefined) return
    for (const [wd, names] of named)
      for (const directory of tree.at(wd)) for (const name of names.keys()) this.note(directory, name)
  }

  /** Takes names into doubt if what was seen after their events does not fit what is known. */
  #weigh(open: OpenNames): void {
    const { tree, pending, reporter, translator } = this.#context
    const { moves, rechecks } = pending
    for (const [wd, names] of open) {
      for (const directory of tree.at(wd)) {
        const entries = tree.entriesOf(directory)
        for (const { name, seen: found } of names) {
          const hasLeft = !moves.isEmpty && moves.from(directory, name) !== undefined
          const believed = hasLeft ? undefined : entries.get(name)
          if (!this.#fits(directory, name, believed, found)) rechecks.add(directory, name)
          else if (believed && found && keepsStat(directory))
            reporter.report(translator.takeSeen(directory, name, believed, found))
        }
      }
    }
  }

  /** Returns true if the known entry of a name may be the entry found there. */
  #fits(
    directory: Directory,
    name: string,
    believed: Entry | undefined,
    found: Entry | null | undefined,
  ): boolean {
    const { rules, tree } = this.#context
    if (found === undefined) return false
    if (found === null) return believed === undefined
    if (believed === undefined)
      return rules.hidesSome && rules.hides(tree.pathOf(directory, name), found.kind)
    if (believed instanceof Directory && isLinkBase(believed)) return found.kind === 'symlink'
    return mayBeSame(believed, found)
  }
}
