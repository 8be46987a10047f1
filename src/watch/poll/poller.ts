import type { TaskQueue } from '../../task_queue.ts'
import { CLOCK_SLACK_MS } from '../clock.ts'
import { RESCAN } from '../diff/diff_options.ts'
import { type Rescan, topmost } from '../diff/rescan.ts'
import type { Scanner } from '../diff/scanner.ts'
import type { Snapshot, SnapshotDir } from '../diff/snapshot.ts'
import type { EventHandler } from '../events/event_handler.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import type { Settings } from '../options.ts'
import type { Reporter } from '../report/reporter.ts'
import type { FileRoots } from '../roots/file_roots.ts'
import type { FollowedLinks } from '../roots/followed_links.ts'
import type { Root } from '../roots/root.ts'
import type { RootForest } from '../roots/root_forest.ts'
import type { RootMonitor } from '../roots/root_monitor.ts'
import type { Rules } from '../rules.ts'
import type { Listing } from '../scan/listing.ts'
import type { TreeWalker, WatchSystem } from '../system.ts'
import type { Directory, WatchedMount } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { isAtomicLayout } from './atomic_writer.ts'
import { keepsDirectories } from './partial.ts'
import type { PollInterval } from './poll_interval.ts'
import { PollStamp } from './poll_stamp.ts'

export interface PollerParts {
  system: WatchSystem
  queue: TaskQueue
  tree: Tree
  files: Pick<FileRoots, 'arePolled'>
  links: Pick<FollowedLinks, 'arePolled' | 'poll'>
  events: EventHandler
  rescan: Rescan
  rootMonitor: RootMonitor
  forest: RootForest
  inotify: InotifySource
  reporter: Reporter
  pace: PollInterval
  settings: Pick<Settings, 'interval' | 'persistent'>
  rules: Rules
}

const POLL = { isPoll: true } as const

// A listing during which names went, or in which a directory is gone, is made again: what was renamed meanwhile may be in it twice, or not at all.
const ATTEMPTS = 3

/**
 * Lists what no event tells of, or not all, and takes it in. The listing is made by a walker of its own and while events go on: a mount
 * that has stopped answering holds up nothing but this.
 */
export class Poller {
  readonly #parts: PollerParts
  readonly #walker: TreeWalker
  readonly #scanner: Scanner
  #lingering: { isInterrupted: boolean; ended: Promise<unknown> } | undefined
  // What has ended it, and of what: the first listing of the next poll.
  #found: { listings: Listing[]; directories: readonly Directory[] } | undefined
  // What was believed when the last poll had been taken in: what the walker has seen then, it does not tell again.
  #committed: PollStamp | undefined
  #isPolling = false
  // Whether what a walk does not tell again is as it was: what is not ignored is surveyed level by level, each time.
  readonly #compares: boolean
  // ms since the epoch: when the last poll began.
  #lastAt: number

  constructor(parts: PollerParts) {
    this.#parts = parts
    this.#walker = parts.system.openWalker()
    this.#scanner = parts.rescan.scannerWith(this.#walker)
    this.#compares = !(parts.rules.recursive && parts.rules.hidesSome)
    this.#lastAt = parts.system.clock.now()
  }

  /** Whether something has to be polled, if only to see whether it is there. */
  isNeeded(): boolean {
    const { forest, links } = this.#parts
    for (const root of forest.standing()) if (!root.isPresent || isPolled(root)) return true
    return links.arePolled
  }

  /**
   * Polls without JavaScript for as long as nothing has changed. Resolves with whether something has; undefined: there is more to
   * be done than that.
   */
  pollIdle(): Promise<boolean> | undefined {
    if (!this.#mayLinger()) return undefined
    const lingering = { isInterrupted: false, ended: Promise.resolve() as Promise<unknown> }
    const found = this.#linger(lingering)
    lingering.ended = found.catch(() => {})
    this.#lingering = lingering
    return found
  }

  /** `isDue`: in any case, else only if there is more to be done by now. */
  interrupt(isDue: boolean): void {
    // What was found before is not what is there now.
    if (isDue) this.#found = undefined
    if (isDue || !this.#mayLinger()) this.#stopLingering()
  }

  #stopLingering(): void {
    if (this.#lingering === undefined) return
    this.#lingering.isInterrupted = true
    this.#walker.cancel()
  }

  async #linger(lingering: { isInterrupted: boolean }): Promise<boolean> {
    const { pace, settings } = this.#parts
    const { interval, persistent } = settings
    try {
      const directories = this.#polled().bases
      const requests = directories.map((base) => ({
        ...this.#scanner.requestFor(base, POLL),
        statOnly: this.statsOnly(base),
      }))
      const listings = await this.#walker.pollIdle(requests, pace.rest, interval, persistent)
      if (lingering.isInterrupted) return false
      pace.settle()
      // It has become too slow for this.
      if (listings.length === 0) return false
      // What was found is known in place of all that was: so it must be of all.
      const isWhole = directories.length === 1 || !requests.some(({ statOnly }) => statOnly)
      if (isWhole) this.#found = { listings, directories }
      return true
    } finally {
      this.#lingering = undefined
    }
  }

  #mayLinger(): boolean {
    const { forest, files, links, pace } = this.#parts
    if (!this.#compares || this.#isPolling || this.#isOvertaken() || pace.slowness !== undefined) return false
    if (files.arePolled || links.arePolled) return false
    const { bases, leftover } = this.#polled()
    return bases.length > 0 && leftover.length === 0 && forest.standing().every(({ isPresent }) => isPresent)
  }

  /** What is believed is not, or may not be, what the last poll has found. */
  #isOvertaken({ mounts } = this.#polled()): boolean {
    return this.#committed?.isCurrent(mounts) !== true
  }

  /** Whether in most polls a directory's own stat is enough, while that is the same. `hash` is for those whose times do not tell. */
  statsOnly(base: Directory): boolean {
    const { tree, files } = this.#parts
    if (!this.#compares || files.arePolled || this.#scanner.requestFor(base, POLL).hash) return false
    return isAtomicLayout(base, tree)
  }

  /** The directories that are asked for. */
  #polled(): { mounts: WatchedMount[]; bases: Directory[]; leftover: Directory[] } {
    const roots = this.#parts.forest.standing().filter((root) => root.isPresent && isPolled(root))
    const mounts = roots.flatMap((root) => [...root.mounts])
    return {
      mounts,
      bases: mounts.flatMap(({ usesPolling, base }) => (usesPolling && base !== undefined ? [base] : [])),
      leftover: mounts.flatMap(({ usesPolling, leftover }) => (usesPolling ? [] : topmost(leftover.keys()))),
    }
  }

  /** Looks for what is lost, and at all that is polled. */
  async poll(): Promise<void> {
    this.#isPolling = true
    try {
      // It may have begun since the poll was asked for.
      this.#stopLingering()
      await this.#lingering?.ended
      await this.#pollAll()
    } finally {
      this.#isPolling = false
    }
  }

  async #pollAll(): Promise<void> {
    const { forest, tree, queue, rootMonitor, links, reporter } = this.#parts
    for (const root of forest.standing()) {
      root.dropMounts(tree)
      if (root.isPresent) continue
      await queue.run(async () => {
        if (!root.isPresent) await rootMonitor.reattach(root, 'poll')
      })
    }
    await this.#pollDirectories()
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
      const current = this.#parts.forest.standing().filter((root) => root.isPresent && isPolled(root))
      if (current.length === 0) return
      const eventNames = new Map<Directory, Set<string>>()
      this.#parts.events.eventNames = eventNames
      try {
        if (await this.#poll(current, eventNames, attempt === ATTEMPTS)) return
      } finally {
        this.#parts.events.eventNames = undefined
      }
    }
  }

  /** Whether it has been taken in. */
  async #poll(
    roots: readonly Root[],
    eventNames: ReadonlyMap<Directory, ReadonlySet<string>>,
    isLastAttempt: boolean,
  ): Promise<boolean> {
    const { queue, events, rescan, rootMonitor, inotify, tree, pace } = this.#parts
    const since = this.#lastAt - CLOCK_SLACK_MS
    const startedAt = this.#parts.system.clock.now()
    const polled = this.#polled()
    const { mounts, bases, leftover } = polled
    const begun = new PollStamp(mounts)
    // With all that lies below: a directory that is made there, or moved there, has no watch either that would tell of it.
    const asked = [...bases, ...leftover]
    // Of what is polled for want of a watch no digest is kept: another mount may be listed with it.
    const compares = this.#compares && leftover.length === 0
    let isPartial = compares && !this.#isOvertaken(polled)
    let snapshot = (isPartial && this.#takeFound(bases)) || (await this.#scan(asked, isPartial))
    const isQuiet = isPartial && snapshot.directories.length === 0
    if (isQuiet && begun.isCurrent(this.#polled().mounts)) {
      this.#lastAt = startedAt
      pace.note(false, this.#walker.took)
      // It is the same; but kept once.
      this.#walker.commit()
      return true
    }
    if (isPartial && (isQuiet || !keepsDirectories(snapshot, tree))) {
      isPartial = false
      snapshot = await this.#scan(asked, false)
    }
    if (!isLastAttempt && snapshot.directories.some(isMoving)) return false
    // What the listing shows and events tell as well, they have told behind the barrier: each change is told once, and by its event
    // where it has one. What looks have shown until now, and events have not told by then, is the poll's to tell.
    const confirm = events.holdLooks()
    await inotify.barrier().catch(() => {})
    return await queue.run(async () => {
      events.eventNames = undefined
      confirm()
      if (!begun.isValid(this.#polled().mounts)) return false
      // A root that is another directory by now is lost, and not compared with what it was.
      const replaced = this.#replaced(roots, snapshot)
      for (const root of replaced) await rootMonitor.reattach(root, 'poll')
      if (replaced.length > 0) return false
      // What was left out is believed no more: all of it is needed.
      const isOvertaken = !begun.isCurrent(mounts)
      if (isPartial && (isOvertaken || !keepsDirectories(snapshot, tree))) return false
      const isWatched = mounts.some(({ usesPolling, usesInotify }) => usesPolling && usesInotify)
      // Its filesystem has this machine's clock.
      const from = leftover.length > 0 ? since : 0
      const options = { ...RESCAN, source: 'poll', since: from, eventNames, isPartial } as const
      const changes = rescan.takePoll(snapshot, options)
      await events.list()
      const isBelieved = compares && eventNames.size === 0 && !(isWatched && events.isUnsettled)
      const now = this.#polled().mounts
      if (isBelieved && begun.isCurrent(now)) {
        this.#walker.commit()
        this.#committed = new PollStamp(now)
      } else this.#committed = undefined
      this.#lastAt = startedAt
      // What a poll cannot tell from what was there before, events have told; unless they were lost.
      if (!roots.some(({ isOverflown }) => isOverflown))
        for (const mount of mounts) mount.toldUntil = startedAt
      pace.note(changes.length > 0, this.#walker.took)
      // Or it has moved from where the poll had not been yet to where it had: then it is somewhere that was not looked into.
      return (
        isLastAttempt || !changes.some((change) => change.type === 'delete' && change.kind === 'directory')
      )
    })
  }

  /** What has ended the lingering, if it was of these. */
  #takeFound(directories: readonly Directory[]): Snapshot | undefined {
    const found = this.#found
    this.#found = undefined
    const isSame = found?.directories.length === directories.length
    return isSame && directories.every((each, i) => each === found.directories[i])
      ? this.#scanner.snapshotOf(directories, found.listings, POLL)
      : undefined
  }

  /** `isPartial`: without what is as it was when a poll was last taken in. */
  async #scan(directories: readonly Directory[], isPartial: boolean): Promise<Snapshot> {
    if (!isPartial) this.#walker.forget()
    return await this.#scanner.scan(directories, POLL)
  }

  #replaced(roots: readonly Root[], { directories }: Snapshot): Root[] {
    return roots.filter(({ top, identity }) => {
      const found = directories.find(({ target }) => top !== undefined && target?.requested === top)
      const listing = found?.listing
      return listing !== undefined && (listing.error !== 0 || listing.identity !== identity)
    })
  }
}

/** Something went while it was listed, or was gone when the walk came to it: where it is now may have been listed before. */
function isMoving({ listing, parent }: SnapshotDir): boolean {
  return listing?.isMoving === true || (parent !== undefined && listing?.isGone === true)
}

/** Whether something of a root is polled. */
function isPolled({ mount }: Root): boolean {
  if (mount === undefined) return false
  if (mount.usesPolling || mount.leftover.size > 0) return true
  if (mount.family.size === 1) return false
  for (const { usesPolling, leftover } of mount.family) if (usesPolling || leftover.size > 0) return true
  return false
}
