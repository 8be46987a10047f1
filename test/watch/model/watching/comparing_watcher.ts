import { dirname } from 'node:path'
import type { Change } from '../../../../src/index.ts'
import { type Seen, type Snapshot, snapshot } from '../world/snapshot.ts'
import type { Observer, Tell } from './observer.ts'

/**
 * The simplest watcher that keeps the contract once nobody writes any more: it compares snapshots when it is asked to. With it the
 * model test's own machinery is tested: `spoil` makes it tell something else than it should.
 */
export class ComparingWatcher implements Observer {
  readonly ready: Promise<void>
  readonly #root: string
  readonly #tell: Tell
  readonly #spoil: (changes: Change[]) => Change[]
  #known: Snapshot = new Map()

  constructor(
    root: string,
    initial: boolean,
    tell: Tell,
    spoil: (changes: Change[]) => Change[] = (changes) => changes,
  ) {
    this.#root = root
    this.#tell = tell
    this.#spoil = spoil
    if (!initial) this.#known = snapshot(root)
    this.ready = Promise.resolve()
  }

  async sync(): Promise<void> {
    let now: Snapshot
    try {
      now = snapshot(this.#root)
    } catch {
      return // somebody is at work: the next time tells
    }
    const changes = this.#spoil(this.#compare(now))
    this.#known = now
    if (changes.length > 0) this.#tell(changes, Date.now())
  }

  async close(): Promise<void> {}

  #compare(now: Snapshot): Change[] {
    const changes: Change[] = []
    const report = (type: 'create' | 'modify' | 'attrib' | 'delete', path: string, { kind }: Seen) =>
      changes.push({ type, path, kind, mask: 0, source: 'rescan' })
    const gone = new Set<string>()
    for (const [path, before] of this.#known) {
      if (now.get(path)?.kind === before.kind) continue
      // Its directory's delete speaks for it.
      if (!gone.has(dirname(path))) report('delete', path, before)
      gone.add(path)
    }
    for (const [path, seen] of now) {
      const before = gone.has(path) ? undefined : this.#known.get(path)
      if (before === undefined) report('create', path, seen)
      else if (isWritten(before, seen)) report('modify', path, seen)
      else if (before.ctime !== seen.ctime && seen.kind !== 'directory') report('attrib', path, seen)
    }
    return changes
  }
}

/** The same bytes may have been written again, or be another file's. */
function isWritten(before: Seen, after: Seen): boolean {
  if (before.content !== after.content) return true
  return after.kind === 'file' && (before.ino !== after.ino || before.mtime !== after.mtime)
}
