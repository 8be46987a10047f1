import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Change } from '../../../../src/index.ts'
import { CLOCK_SLACK_MS } from '../../../../src/watch/clock.ts'
import { type Seen, type Snapshot, snapshot } from '../world/snapshot.ts'
import type { Observer, Tell } from './observer.ts'

const MOST_ATTEMPTS = 20

/**
 * The simplest watcher that is right once all writers are done: it compares snapshots at sync(). The model
 * test's own machinery is tested with this watcher. `spoil` makes its changes wrong.
 */
export class ComparingWatcher implements Observer {
  readonly ready: Promise<void>
  readonly #root: string
  readonly #tell: Tell
  readonly #spoil: (changes: Change[]) => Change[]
  #known: Snapshot = new Map()
  // The start of the last snapshot, in ms since the epoch.
  #knownAt = 0

  constructor(
    root: string,
    initial: boolean,
    tell: Tell,
    spoil: (changes: Change[]) => Change[] = (changes) => changes,
  ) {
    this.#root = root
    this.#tell = tell
    this.#spoil = spoil
    this.#knownAt = Date.now()
    if (!initial) this.#known = snapshot(root)
    this.ready = Promise.resolve()
  }

  async sync(): Promise<void> {
    const seen = await this.#look()
    // Writers are at work: the next sync() will tell.
    if (seen === undefined) return
    const { now, startedAt } = seen
    const changes = this.#spoil(this.#compare(now))
    this.#known = now
    this.#knownAt = startedAt
    if (changes.length > 0) this.#tell(changes, Date.now())
  }

  async close(): Promise<void> {}

  /**
   * Returns a snapshot after which a new write would show in a stat. While writers are at work, there may be
   * none.
   */
  async #look(): Promise<{ now: Snapshot; startedAt: number } | undefined> {
    for (let attempt = 1; ; attempt++) {
      const startedAt = Date.now()
      try {
        const now = snapshot(this.#root)
        const isSettled = ![...now.values()].some((seen) => mayBeWritten(seen, startedAt))
        if (isSettled || attempt === MOST_ATTEMPTS) return { now, startedAt }
      } catch {
        return undefined
      }
      await setTimeout(CLOCK_SLACK_MS / 5)
    }
  }

  #compare(now: Snapshot): Change[] {
    const changes: Change[] = []
    const report = (type: 'create' | 'modify' | 'attrib' | 'delete', path: string, { kind }: Seen) =>
      changes.push({ type, path, kind, mask: 0, source: 'rescan' })
    const gone = new Set<string>()
    for (const [path, before] of this.#known) {
      if (now.get(path)?.kind === before.kind) continue
      // The directory's delete implies this one.
      if (!gone.has(dirname(path))) report('delete', path, before)
      gone.add(path)
    }
    for (const [path, seen] of now) {
      const before = gone.has(path) ? undefined : this.#known.get(path)
      if (before === undefined) report('create', path, seen)
      else if (isWritten(before, seen) || mayBeWritten(before, this.#knownAt)) report('modify', path, seen)
      else if (before.ctime !== seen.ctime && seen.kind !== 'directory') report('attrib', path, seen)
    }
    return changes
  }
}

/**
 * Returns if a write after this time may not show in the stat: within the same tick of the kernel's clock.
 */
function mayBeWritten({ kind, ctime }: Seen, seenAt: number): boolean {
  return (kind === 'file' || kind === 'symlink') && Number(ctime) / 1e6 >= seenAt - CLOCK_SLACK_MS
}

/**
 * Returns if a file or link may have been written. Equal bytes may have been written again or belong to
 * another file. The same holds for a link's target.
 */
function isWritten(before: Seen, after: Seen): boolean {
  if (after.kind === 'directory') return false
  return before.content !== after.content || before.ino !== after.ino || before.mtime !== after.mtime
}
