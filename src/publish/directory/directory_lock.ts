import { resolve } from 'node:path'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { tryLock } from '../../mounts/syscalls/file_lock.ts'
import { TaskQueue } from '../../task_queue.ts'
import { warn } from '../../warning.ts'
import { openToRead } from '../draft/durable.ts'
import { about, failure } from '../failure.ts'

/** ms for which another publisher is waited for in silence. */
const PATIENCE = 5000
/** ms for which it is waited for at all: whoever may read the directory can hold its lock for ever. */
const LIMIT = 30_000
/** ms between two tries, at first and at most. flock(2) that waits would hold the thread, beyond any limit. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [2, 100]

/** The calls about each directory, by its path. */
const queues = new Map<string, TaskQueue>()

/**
 * Runs when the calls of this process about the same path have ended, so that a lock which is not given back holds one thread, however many
 * calls there are. Another path of the directory has a turn of its own, and waits for the lock.
 *
 * @param run is given the performance.now() after which no lock is waited for
 */
export async function inTurn<T>(path: string, run: (until: number) => Promise<T>): Promise<T> {
  const until = performance.now() + LIMIT
  const key = resolve(path)
  const queue = queues.get(key) ?? new TaskQueue()
  queues.set(key, queue)
  try {
    return await queue.run(() => run(until))
  } finally {
    if (!queue.isBusy) queues.delete(key)
  }
}

/**
 * Waits for the publisher that is at it. The lock is the kernel's, which gives it back however that one ends; it is ours until the calls
 * end. Where there are none (NFS has none of directories) nobody is waited for.
 */
export async function lockDirectory(directory: DirectoryHandle, shown: string, until: number): Promise<void> {
  const reading = openToRead(directory)
  const fd = await about(shown, reading, 'the directory is read, to know what is in it: that takes r, too')
  const waiting = setTimeout(warnOfLock, PATIENCE, shown)
  try {
    for (
      let pause = FIRST_PAUSE;
      (await tryLock(directory.calls, fd)) === 'taken';
      pause = Math.min(2 * pause, LONGEST_PAUSE)
    ) {
      if (performance.now() >= until) {
        const hint = `somebody else has held a lock on the directory for ${LIMIT / 1000} s, as whoever may read it can: lslocks says who`
        throw failure('EBUSY', 'flock', shown, hint)
      }
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  } finally {
    clearTimeout(waiting)
  }
}

function warnOfLock(shown: string): void {
  warn(
    'INOTIFY_BRIDGE_LOCKED',
    `somebody else has held a lock on ${shown} for ${PATIENCE / 1000} s`,
    'Another publisher is at it, has been stopped, or another program has locked the directory (lslocks).',
  )
}
