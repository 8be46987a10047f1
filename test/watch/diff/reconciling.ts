import { expect } from 'vitest'
import type { DiffContext } from '../../../src/watch/diff/context.ts'
import type { DiffOptions } from '../../../src/watch/diff/diff_options.ts'
import { reconcile } from '../../../src/watch/diff/reconcile.ts'
import { Scanner } from '../../../src/watch/diff/snapshot/scanner.ts'
import type { Change } from '../../../src/watch/report/change.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { listingsIn } from '../../../src/watch/scan/listing.ts'
import type { TreeWalker } from '../../../src/watch/system.ts'
import type { Directory } from '../../../src/watch/tree/directory.ts'
import { WatchStatus } from '../../../src/watch/tree/watch_status.ts'
import { Replay } from '../../scripts/replay.ts'
import { World } from '../events/translating.ts'
import { kindsOf, type Plan, type RecordSpec, recordsOf, walkOf } from '../scan/records.ts'
import { seen } from '../tree/believed.ts'

/** All times of entries are before this one. */
export const SINCE = 1_000_000

/** A tree at /t, as walks have found it. */
export class Walked extends World {
  fallsBackToPolling = false
  readonly #isPolled: boolean
  readonly #scanner = new Scanner(
    {
      tree: this.tree,
      rules: this.rules,
      settings: { hash: false },
      system: { clock: { now: () => 0 } },
      inotify: { instance: undefined },
      sourceChoice: { chooseBelow: async () => ({ refused: new Error('no mounts here') }) },
    } as unknown as DiffContext,
    // The walker is never called.
    {} as TreeWalker,
  )

  constructor(isPolled: boolean) {
    super()
    this.#isPolled = isPolled
    if (isPolled) this.mount.backend = 'poll'
    this.mount.base = this.root
  }

  /** Returns the changes that a walk through the whole plan finds. */
  find(plan: Plan, options: Partial<DiffOptions> = {}): Change[] {
    return this.take(walkOf(plan, this.#isPolled ? 0 : 1000), [this.root], options)
  }

  take(
    records: readonly RecordSpec[],
    requested: readonly Directory[],
    options: Partial<DiffOptions> = {},
  ): Change[] {
    const { tree, rules, pending, fallsBackToPolling } = this
    const diff: DiffOptions = {
      source: this.#isPolled ? 'poll' : 'rescan',
      since: SINCE,
      matchByName: false,
      baseline: false,
      isToldLater: false,
      statAll: true,
      ...options,
    }
    const snapshot = this.#scanner.snapshotOf(requested, listingsIn(recordsOf(records)), {
      isPoll: this.#isPolled,
    })
    const outcome = { roots: new Map(), status: new WatchStatus(tree, fallsBackToPolling, undefined) }
    return reconcile({ tree, rules, pending, snapshot, options: diff, ...outcome })
  }

  /** Returns the tree as a plan: paths to inode numbers. */
  get inodes(): Map<string, number> {
    const found = new Map<string, number>()
    for (const directory of this.tree.within(this.root)) {
      for (const [name, { ino }] of this.tree.entriesOf(directory)) {
        found.set(this.tree.pathOf(directory, name).slice('/t/'.length), ino)
      }
    }
    return found
  }
}

/**
 * Returns a plan from paths, parents first, to inode numbers or entries. A path with a slash at the end is a
 * directory's.
 */
export function planOf(entries: Record<string, number | Entry>): Plan {
  return new Map(
    Object.entries(entries).map(([path, what]) => {
      const isDirectory = path.endsWith('/')
      const entry = typeof what === 'number' ? seen(isDirectory ? 'directory' : 'file', what) : what
      return [isDirectory ? path.slice(0, -1) : path, entry]
    }),
  )
}

/** Returns the changes in words, and checks that they lead from the one plan to the other. */
export function told(before: Plan, after: Plan, isPolled: boolean): string[] {
  const walked = new Walked(isPolled)
  walked.find(before)
  const changes = walked.find(after)
  const replay = new Replay(kindsOf(before), ['/t'])
  replay.apply(changes)
  expect(replay.complaints()).toEqual([])
  expect(replay.tree).toEqual(kindsOf(after))
  expect(walked.inodes).toEqual(new Map([...after].map(([path, { ino }]) => [path, ino])))
  expect(walked.find(after)).toEqual([])
  return walked.words(changes)
}
