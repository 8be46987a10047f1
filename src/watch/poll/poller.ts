import { CLOCK_SLACK_MS } from '../clock.ts'
import { RESCAN } from '../diff/diff_options.ts'
import { learnNumbers } from '../diff/passing_numbers.ts'
import { Scanner } from '../diff/snapshot/scanner.ts'
import type { Snapshot } from '../diff/snapshot/snapshot.ts'
import type { SnapshotDir } from '../diff/snapshot/snapshot_dir.ts'
import { isSought, type Root } from '../roots/root.ts'
import type { TreeWalker } from '../system.ts'
import type { Directory } from '../tree/directory.ts'
import { BudgetedPoll } from './budgeted_poll.ts'
import type { PollContext } from './context.ts'
import { IdlePoll } from './idle_poll.ts'
import { keepsDirectories } from './partial.ts'
import { POLL, type PollScope } from './poll_scope.ts'
import { PollStamp } from './poll_stamp.ts'
import { reattachReplaced, throwIfShort } from './polled_roots.ts'
import { WatchShift } from './watch_shift.ts'

// A listing is made again if names went meanwhile, or a directory: what was renamed may be in it twice, or not at all.
const ATTEMPTS = 3

/**
 * Lists what events tell nothing of, or not all, and takes the listing in. It lists by a walker of its
 * own, and while events go on: a mount that has stopped answering holds up nothing but this.
 */
export class Poller {
  readonly #context: PollContext
  readonly #scope: PollScope
  readonly #walker: TreeWalker
  readonly #scanner: Scanner
  readonly #idle: IdlePoll
  readonly #budgeted: BudgetedPoll | undefined
  readonly #shift: WatchShift
  // The beliefs when the last poll had been taken in: the walker does not tell again what it has seen then.
  #committed: PollStamp | undefined
  #isPolling = false
  // ms since the epoch: the start of the last poll.
  #lastAt: number

  constructor(context: PollContext, scope: PollScope) {
    this.#context = context
    this.#scope = scope
    this.#walker = context.system.openWalker()
    this.#scanner = new Scanner(context, this.#walker)
    this.#idle = new IdlePoll(context, scope, this.#walker, this.#scanner)
    this.#shift = new WatchShift(context)
    const { pollRound } = context
    if (pollRound !== undefined)
      this.#budgeted = new BudgetedPoll(context, scope, this.#scanner, pollRound, this.#shift)
    this.#lastAt = context.system.clock.now()
  }

  /** Polls without JavaScript while nothing changes. Resolves with true if something has; undefined: there is more to be done. */
  pollIdle(): Promise<boolean> | undefined {
    return this.#mayIdle() ? this.#idle.start() : undefined
  }

  /** Ends an idle poll: if `isDue` always, else only if there is more to be done by now. */
  interrupt(isDue: boolean): void {
    if (isDue) this.#idle.forget()
    if (isDue || !this.#mayIdle()) this.#idle.interrupt()
  }

  #mayIdle(): boolean {
    const { pollInterval } = this.#context
    if (this.#isPolling || this.#budgeted !== undefined || pollInterval.slowness !== undefined) return false
    return this.#scope.isForWalkerAlone() && !this.#isOvertaken()
  }

  /** Returns true if the beliefs are not, or may not be, what the last poll has found. */
  #isOvertaken({ mounts } = this.#scope.directories()): boolean {
    return this.#committed?.isCurrent(mounts) !== true
  }

  /** Looks for lost roots, and at all that is polled. `isPart`: at as much as a budget allows. */
  async poll(isPart: boolean): Promise<void> {
    this.#isPolling = true
    try {
      // An idle poll may have begun since this one was asked for.
      await this.#idle.stop()
      await this.#context.shortage.unless(this, () => this.#pollAll(isPart))
    } finally {
      this.#isPolling = false
    }
  }

  async #pollAll(isPart: boolean): Promise<void> {
    const { forest, tree, queue, rootMonitor, files, links, reporter } = this.#context
    // Before a task looks at these: while a server has stopped, the events of all other mounts go on.
    const sought = forest.standing().filter(isSought)
    const paths = [...sought.map(({ path }) => path), ...files.polled, ...links.polledDirectories]
    if (paths.length > 0) await files.answered(this.#context.system.served(paths))
    for (const root of forest.standing()) {
      root.dropMounts(tree)
      if (!isSought(root)) continue
      await queue.run(async () => {
        if (isSought(root)) await rootMonitor.reattach(root, 'poll')
      })
    }
    if (isPart && this.#budgeted !== undefined) await this.#budgeted.poll()
    else await this.#pollDirectories()
    await queue.run(async () => {
      await rootMonitor.lookAtFiles('poll')
      await links.poll()
    })
    await reporter.room()
  }

  close(): Promise<void> {
    return this.#walker.close()
  }

  async #pollDirectories(): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const current = this.#scope.roots()
      if (current.length === 0) return
      const eventNames = this.#context.events.recordNames()
      try {
        if (await this.#poll(current, eventNames, attempt === ATTEMPTS)) return
      } finally {
        this.#context.events.stopRecording()
      }
    }
  }

  /** Returns true if the poll has been taken in. */
  async #poll(
    roots: readonly Root[],
    eventNames: ReadonlyMap<Directory, ReadonlySet<string>>,
    isLastAttempt: boolean,
  ): Promise<boolean> {
    const { queue, events, followUp, rescan, rootMonitor, inotify, tree, pending, pollInterval, watchLimit } =
      this.#context
    const since = this.#lastAt - CLOCK_SLACK_MS
    const startedAt = this.#context.system.clock.now()
    const polled = this.#scope.directories()
    const { mounts, bases, leftover } = polled
    const begun = new PollStamp(mounts)
    // Asks for all that lies below, too: a directory made or moved there has no watch either that would tell of it.
    const asked = [...bases, ...leftover]
    const unwatched = mounts.flatMap((mount) => [...mount.leftover.keys()])
    // With leftovers no digest is kept: another mount may be listed with them.
    const compares = this.#scope.compares && leftover.length === 0
    let isPartial = compares && !this.#isOvertaken(polled)
    let snapshot = (isPartial && this.#idle.take(bases)) || (await this.#scan(asked, isPartial))
    const isQuiet = isPartial && snapshot.directories.length === 0
    if (isQuiet && begun.isCurrent(this.#scope.directories().mounts)) {
      this.#lastAt = startedAt
      pollInterval.note(false, this.#walker.took)
      // The digests found are the known ones: this frees the second copy.
      this.#walker.commit()
      return true
    }
    if (isPartial && (isQuiet || !keepsDirectories(snapshot, tree))) {
      isPartial = false
      snapshot = await this.#scan(asked, false)
    }
    throwIfShort(roots, snapshot)
    const isMixed = learnNumbers(snapshot, tree, since)
    if (!isLastAttempt && (isMixed || snapshot.directories.some(isMoving))) return false
    // Past the barrier, events have told what the listing shows as well: each change is told once, by its event where
    // it has one.
    await inotify.barrier().catch(() => {})
    return await queue.run(async () => {
      events.stopRecording()
      if (!begun.isValid(this.#scope.directories().mounts)) return false
      // A directory that got a watch was listed later than here: no poll would put right what this one told of it.
      const isWatchedNow = (each: Directory) => tree.isAttached(each) && !each.mount.leftover.has(each)
      if (unwatched.some(isWatchedNow)) return false
      if (await reattachReplaced(roots, snapshot, rootMonitor)) return false
      // The beliefs about what a partial poll left out have changed: all of it is needed.
      const isOvertaken = !begun.isCurrent(mounts)
      if (isPartial && (isOvertaken || !keepsDirectories(snapshot, tree))) return false
      const isWatched = mounts.some(({ usesPolling, usesInotify }) => usesPolling && usesInotify)
      // Leftovers lie on a filesystem that has this machine's clock.
      const from = leftover.length > 0 ? since : 0
      const changed = watchLimit && new Set<Directory>()
      const options = { ...RESCAN, source: 'poll', since: from, eventNames, isPartial, changed } as const
      const changes = rescan.take(snapshot, options)
      if (changed !== undefined) this.#shift.give(changed, startedAt)
      await followUp.list()
      const isBelieved = compares && eventNames.size === 0 && !(isWatched && pending.isUnsettled)
      const now = this.#scope.directories().mounts
      if (isBelieved && begun.isCurrent(now)) {
        this.#walker.commit()
        this.#committed = new PollStamp(now)
      } else this.#committed = undefined
      this.#lastAt = startedAt
      // A change that a poll cannot tell from what was there before, events have told; unless they were lost.
      if (!roots.some(({ isOverflown }) => isOverflown))
        for (const mount of mounts) mount.toldUntil = startedAt
      pollInterval.note(changes.length > 0, this.#walker.took)
      // Or a directory has moved from where the poll had not been yet to where it had: nobody looked in there.
      return (
        isLastAttempt || !changes.some((change) => change.type === 'delete' && change.kind === 'directory')
      )
    })
  }

  /** Lists directories; `isPartial`: without what is as it was when a poll was last taken in. */
  async #scan(directories: readonly Directory[], isPartial: boolean): Promise<Snapshot> {
    if (!isPartial) this.#walker.forget()
    return await this.#scanner.scan(directories, POLL)
  }
}

/** Returns true if entries went while it was listed, or it was gone when the walk came to it: it may have moved to where the walk had been. */
function isMoving({ listing, parent }: SnapshotDir): boolean {
  return listing?.isMoving === true || (parent !== undefined && listing?.isGone === true)
}
