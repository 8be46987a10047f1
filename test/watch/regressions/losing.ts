import { readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type EventBatch, IN_CREATE, IN_Q_OVERFLOW } from '../../../src/index.ts'
import { barrier, nativeQueue } from '../../../src/inotify/inotify.ts'
import { keyAt } from '../../../src/name_key.ts'
import { CLOCK_SLACK_MS } from '../../../src/watch/clock.ts'
import type { InotifyInstance } from '../../../src/watch/inotify_instance.ts'
import { linux } from '../../../src/watch/linux.ts'
import type { WatchSystem } from '../../../src/watch/system.ts'
import { batchOf, type Event } from '../events/batches.ts'

type Batches = (inotify: InotifyInstance) => AsyncGenerator<EventBatch>

/** Returns a system that reads inotify's events only as `batches` reads them. */
function reading(batches: Batches): Pick<WatchSystem, 'openInotify'> {
  const openInotify: WatchSystem['openInotify'] = (options, owner) => {
    const inotify = linux.openInotify(options, owner)
    return {
      add: (path, mask) => inotify.add(path, mask),
      remove: (wd) => inotify.remove(wd),
      close: () => inotify.close(),
      [barrier]: () => inotify[barrier](),
      [nativeQueue]: inotify[nativeQueue],
      [Symbol.asyncIterator]: () => batches(inotify),
    }
  }
  return { openInotify }
}

/**
 * Returns a system whose inotify instance can be made to lose events, at any limit of the kernel and any
 * speed of the reader: events between an overflow and the next mark are dropped.
 */
export function losing(): { system: Pick<WatchSystem, 'openInotify'>; lose(): void } {
  let isLosing = false
  const system = reading(async function* (inotify) {
    for await (const batch of inotify) {
      if (isLosing) yield batchOf([[-1, IN_Q_OVERFLOW, '']])
      isLosing = false
      yield batch
    }
  })
  return {
    system,
    /** Loses all events from now on until the loop turns. */
    lose: () => {
      isLosing = true
    },
  }
}

/** Returns a system in which each read returns one event. */
export function readingOne(): Pick<WatchSystem, 'openInotify'> {
  return reading(async function* (inotify) {
    for await (const batch of inotify) {
      for (let i = 0; i < batch.length; i++) yield partOf(batch, i, i + 1)
    }
  })
}

/**
 * Returns a system that gets no event when an entry of this name is made, as when it was made behind a mount.
 */
export function hiding(name: string): Pick<WatchSystem, 'openInotify'> {
  return reading(async function* (inotify) {
    for await (const batch of inotify) {
      let start = 0
      for (let i = 0; i <= batch.length; i++) {
        const isHidden = i < batch.length && batch.name(i) === name && (batch.mask(i) & IN_CREATE) !== 0
        if (i < batch.length && !isHidden) continue
        yield partOf(batch, start, i)
        start = i + 1
      }
    }
  })
}

function partOf(batch: EventBatch, start: number, end: number): EventBatch {
  const events = [...batch].map(({ wd, mask, cookie }, i): Event => [wd, mask, keyAt(batch, i), cookie])
  return batchOf(events.slice(start, end))
}

/**
 * Waits until the file is so old that a rescan does not take it for newer than the last event, and tell it
 * once more.
 */
export async function untilPast(path: string): Promise<void> {
  await expect.poll(() => Date.now() - statSync(path).ctimeMs).toBeGreaterThan(2 * CLOCK_SLACK_MS)
}

/** Makes more events in a directory than the queue of a stopped reader holds: see child.ts's stop(). */
export function overflow(directory: string): void {
  const most = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
  const [path, other] = [join(directory, 'overflow'), join(directory, 'overflow-other')]
  writeFileSync(path, '')
  // Each rename is two events, for a tenth of the work of making and removing a file.
  for (let i = 0; i <= most / 4; i++) {
    renameSync(path, other)
    renameSync(other, path)
  }
  unlinkSync(path)
}
