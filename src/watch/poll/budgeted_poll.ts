import { CLOCK_SLACK_MS } from '../clock.ts'
import { RESCAN } from '../diff/diff_options.ts'
import { learnNumbers } from '../diff/passing_numbers.ts'
import type { Scanner, ScanOptions } from '../diff/snapshot/scanner.ts'
import type { SnapshotDir } from '../diff/snapshot/snapshot_dir.ts'
import type { Directory } from '../tree/directory.ts'
import type { PollContext } from './context.ts'
import type { PollRound } from './poll_round.ts'
import type { PollScope } from './poll_scope.ts'
import { PollStamp } from './poll_stamp.ts'
import { reattachReplaced, throwIfShort } from './polled_roots.ts'
import type { WatchShift } from './watch_shift.ts'

/** The options by which some directories are listed, without those below that are known. */
const LOOK: ScanOptions = { isPoll: true, isLook: true }

/** Lists as many directories as a budget allows, and takes each poll in by itself: a directory that moves from one to another may be told as gone, and as new. */
export class BudgetedPoll {
  readonly #context: PollContext
  readonly #scope: PollScope
  readonly #scanner: Scanner
  readonly #round: PollRound
  readonly #shift: WatchShift
  // ms since the epoch: the beginnings of this round and of the last one.
  #began: number
  #lastBegan: number

  constructor(context: PollContext, scope: PollScope, scanner: Scanner, round: PollRound, shift: WatchShift) {
    this.#context = context
    this.#scope = scope
    this.#scanner = scanner
    this.#round = round
    this.#shift = shift
    this.#lastBegan = this.#began = context.system.clock.now()
  }

  async poll(): Promise<void> {
    const { events, system, tree } = this.#context
    if (this.#round.isOver) this.#begin()
    const directories = this.#round.next(system.clock.elapsed(), (each) => tree.isAttached(each))
    if (directories.length === 0) return
    const eventNames = events.recordNames()
    let changed: Iterable<Directory> | undefined
    try {
      changed = await this.#poll(directories, eventNames)
    } finally {
      events.stopRecording()
      const now = system.clock.elapsed()
      // Else the change that hindered it would be told a round later.
      for (const each of changed ?? directories) this.#round.heat(each, now)
    }
  }

  #begin(): void {
    const { clock } = this.#context.system
    const mounts = this.#scope.mounts()
    const isOverflown = this.#scope.roots().some((root) => root.isOverflown)
    if (!isOverflown) for (const mount of mounts) mount.toldUntil = this.#began
    ;[this.#lastBegan, this.#began] = [this.#began, clock.now()]
    this.#round.begin(this.#scope.each(), clock.elapsed())
  }

  /** Returns the directories in which something has changed; undefined: the poll has not been taken in. */
  async #poll(
    directories: readonly Directory[],
    eventNames: ReadonlyMap<Directory, ReadonlySet<string>>,
  ): Promise<Iterable<Directory> | undefined> {
    const { queue, events, followUp, rescan, rootMonitor, inotify, tree, system } = this.#context
    const roots = this.#scope.roots()
    const begun = new PollStamp(this.#scope.mounts())
    const leftover = directories.filter((each) => each.mount.leftover.has(each))
    const since = this.#lastBegan - CLOCK_SLACK_MS
    const { clock } = system
    const [startedAt, at, cpu] = [clock.now(), clock.elapsed(), clock.cpu()]
    const snapshot = await this.#scanner.scan(directories, LOOK)
    throwIfShort(roots, snapshot)
    learnNumbers(snapshot, tree, since)
    // Past the barrier, events have told what the listing shows as well.
    await inotify.barrier().catch(() => {})
    const found = snapshot.directories
    const take = async () => {
      events.stopRecording()
      const mounts = this.#scope.mounts()
      // A directory that got a watch was listed later than here.
      if (!begun.isValid(mounts) || leftover.some((each) => !each.mount.leftover.has(each))) return undefined
      if (await reattachReplaced(roots, snapshot, rootMonitor)) return []
      const from = leftover.length > 0 ? since : 0
      const changed = new Set<Directory>()
      const options = { ...RESCAN, source: 'poll', since: from, eventNames, changed } as const
      const changes = rescan.take(snapshot, options)
      // The digests of the last whole poll are not what is believed.
      if (changes.length > 0) for (const mount of mounts) mount.revision++
      await followUp.list()
      this.#shift.give(changed, startedAt)
      return changed
    }
    try {
      return await queue.run(take)
    } finally {
      this.#round.note(entriesOf(found), clock.elapsed() - at, clock.cpu() - cpu)
    }
  }
}

/** Returns the number of entries of each directory that was asked for, also of those that have failed. */
function entriesOf(found: readonly SnapshotDir[]): Map<Directory, number> {
  const entries = new Map<Directory, number>()
  for (const { match, target, listing } of found) {
    const directory = match ?? target?.requested
    if (directory !== undefined && listing !== undefined)
      entries.set(directory, listing.filesCount + listing.subdirectories().size)
  }
  return entries
}
