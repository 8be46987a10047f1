import { statSync } from 'node:fs'
import { expect } from 'vitest'
import { IN_Q_OVERFLOW, type InotifyOptions } from '../../../src/index.ts'
import { barrier, nativeQueue } from '../../../src/inotify/inotify.ts'
import { CLOCK_SLACK_MS } from '../../../src/watch/clock.ts'
import type { InotifyInstance } from '../../../src/watch/inotify_instance.ts'
import { linux } from '../../../src/watch/linux.ts'
import type { WatchSystem } from '../../../src/watch/system.ts'
import { batchOf } from '../events/batches.ts'

/**
 * A system whose inotify instance can be made to lose events, whatever the kernel's limit is and however quickly somebody reads: what comes
 * behind an overflow up to the next mark is told by nobody.
 */
export function losing(): { system: Pick<WatchSystem, 'openInotify'>; lose(): void } {
  let isLosing = false
  const openInotify = (options: InotifyOptions): InotifyInstance => {
    const inotify = linux.openInotify(options)
    async function* batches() {
      for await (const batch of inotify) {
        if (isLosing) yield batchOf([[-1, IN_Q_OVERFLOW, '']])
        isLosing = false
        yield batch
      }
    }
    return {
      add: (path, mask) => inotify.add(path, mask),
      remove: (wd) => inotify.remove(wd),
      close: () => inotify.close(),
      [barrier]: () => inotify[barrier](),
      [nativeQueue]: inotify[nativeQueue],
      [Symbol.asyncIterator]: batches,
    }
  }
  return {
    system: { openInotify },
    /** All that is done from here on until the loop turns is lost. */
    lose: () => {
      isLosing = true
    },
  }
}

/** What was made just now could have been made after the last event that was told, for all that a rescan knows: and is told once more. */
export async function untilPast(path: string): Promise<void> {
  await expect.poll(() => Date.now() - statSync(path).ctimeMs).toBeGreaterThan(2 * CLOCK_SLACK_MS)
}
