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

/** A system of which nobody reads what inotify tells but as `batches` has it. */
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
 * A system whose inotify instance can be made to lose events, whatever the kernel's limit is and however quickly somebody reads: what comes
 * behind an overflow up to the next mark is told by nobody.
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
    /** All that is done from here on until the loop turns is lost. */
    lose: () => {
      isLosing = true
    },
  }
}

/** A system in which each read ends behind one event. */
export function readingOne(): Pick<WatchSystem, 'openInotify'> {
  return reading(async function* (inotify) {
    for await (const batch of inotify) {
      for (let i = 0; i < batch.length; i++) yield partOf(batch, i, i + 1)
    }
  })
}

/** A system that is not told that something of this name was made: as where it was made behind a mount. */
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

/** What was made just now could have been made after the last event that was told, for all that a rescan knows: and is told once more. */
export async function untilPast(path: string): Promise<void> {
  await expect.poll(() => Date.now() - statSync(path).ctimeMs).toBeGreaterThan(2 * CLOCK_SLACK_MS)
}

/** Makes more events in a directory than a queue holds that nobody reads: see child.ts's stop(). */
export function overflow(directory: string): void {
  const most = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
  const [path, other] = [join(directory, 'overflow'), join(directory, 'overflow-other')]
  writeFileSync(path, '')
  // Each is two events, and a tenth of the work of making a file and removing it.
  for (let i = 0; i <= most / 4; i++) {
    renameSync(path, other)
    renameSync(other, path)
  }
  unlinkSync(path)
}
