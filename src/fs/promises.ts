import { EventEmitter, on } from 'node:events'
import { promises as nodes, type PathLike } from 'node:fs'
import type { FileChangeInfo } from 'node:fs/promises'
import { invalidArgument } from '../errors.ts'
import { type FSWatchOptions, isValid, watch as watchPath } from './watch.ts'

// As it is now: see watch.ts.
const { watch: nodeWatch } = nodes

/** As fsPromises.watch() has them. */
export interface FSWatchIteratorOptions extends FSWatchOptions {
  /** How many events wait for who iterates. @default 2048 */
  maxQueue?: number | undefined
  /** What becomes of one more: it is left out, with a process warning, or iterating fails behind those that wait. @default 'ignore' */
  overflow?: 'ignore' | 'error' | undefined
}

/** As fsPromises.watch(): iterating gives events, and fails with an AbortError when the signal aborts. See {@link watchPath}. */
export async function* watch(
  filename: PathLike,
  options: FSWatchIteratorOptions = {},
): AsyncGenerator<FileChangeInfo<string | Buffer>, void> {
  // What is wrong, Node says as it says it.
  if (!isValid('/', options) || !['boolean', 'undefined'].includes(typeof options.persistent))
    for await (const _ of nodeWatch(filename, options as object)) break
  const { maxQueue = 2048, overflow = 'ignore', signal } = options
  if (!Number.isInteger(maxQueue)) throw invalidArgument('options.maxQueue', maxQueue, 'an integer')
  if (overflow !== 'ignore' && overflow !== 'error')
    throw invalidArgument('options.overflow', overflow, `'ignore' or 'error'`)
  const tooMany = new Error(`fs.watch() queued more than ${maxQueue} events`)
  Object.assign(tooMany, { code: 'ERR_FS_WATCH_QUEUE_OVERFLOW' })
  const queue = new EventEmitter()
  const events = on(queue, 'event', { signal })
  let waiting = 0
  const watcher = watchPath(filename, options, (eventType, filename) => {
    if (waiting < maxQueue) {
      waiting++
      queue.emit('event', { eventType, filename })
    } else if (overflow === 'error') fail(tooMany)
    else process.emitWarning('fs.watch maxQueue exceeded')
  })
  const fail = (error: Error) => {
    watcher.close()
    queue.emit('error', error)
  }
  watcher.on('error', fail)
  try {
    for await (const [event] of events) {
      waiting--
      yield event
    }
  } finally {
    watcher.close()
  }
}
