import { EventEmitter, on } from 'node:events'
import type { PathLike } from 'node:fs'
import type { FileChangeInfo } from 'node:fs/promises'
import { invalidArgument } from '../errors.ts'
import { nodeWatchPromises } from './nodes_own.ts'
import { type FSWatchOptions, isValid, watch as watchPath } from './watch.ts'

/** Options of fsPromises.watch(). */
export interface FSWatchIteratorOptions extends FSWatchOptions {
  /** The number of events that wait for the consumer. @default 2048 */
  maxQueue?: number | undefined
  /** One event more is left out, with a process warning, or makes iterating fail behind those that wait. @default 'ignore' */
  overflow?: 'ignore' | 'error' | undefined
}

/** As fsPromises.watch(): iterating gives events, and fails with an AbortError when the signal aborts. */
export async function* watch(
  filename: PathLike,
  options: FSWatchIteratorOptions = {},
): AsyncGenerator<FileChangeInfo<string | Buffer>, void> {
  // Node reports wrong arguments in its own words.
  if (!isValid('/', options) || !['boolean', 'undefined'].includes(typeof options.persistent))
    for await (const _ of nodeWatchPromises(filename, options as object)) break
  const { maxQueue = 2048, overflow = 'ignore', signal } = options
  if (!Number.isSafeInteger(maxQueue)) throw notAnInteger('options.maxQueue', maxQueue)
  if (overflow !== 'ignore' && overflow !== 'error')
    throw invalidArgument('options.overflow', overflow, `'ignore' or 'error'`)
  const tooMany = new Error(`fs.watch() queued more than ${maxQueue} events`)
  Object.assign(tooMany, { code: 'ERR_FS_WATCH_QUEUE_OVERFLOW' })
  const queue = new EventEmitter()
  const events = on(queue, 'event', { signal })
  let waiting = 0
  const offer = (event: FileChangeInfo<string | Buffer>) => {
    if (waiting < maxQueue) {
      waiting++
      queue.emit('event', event)
    } else if (overflow === 'error') fail(tooMany)
    else process.emitWarning('fs.watch maxQueue exceeded')
  }
  // Events that were read together come one by one, as Node's do: who iterates has taken each before the next, and is not behind, unless it waits for more than microtasks.
  const read: Array<FileChangeInfo<string | Buffer>> = []
  let isOffering = false
  const offerNext = () => {
    const event = read.shift()
    isOffering = event !== undefined
    if (event === undefined) return
    offer(event)
    // The tick comes when no microtask is left.
    queueMicrotask(() => process.nextTick(offerNext))
  }
  const watcher = watchPath(filename, options, (eventType, filename) => {
    read.push({ eventType, filename })
    if (!isOffering) offerNext()
  })
  const fail = (error: Error) => {
    read.length = 0
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
    read.length = 0
    watcher.close()
  }
}

/** As Node 22 has it. */
function notAnInteger(name: string, value: unknown): Error {
  const error = invalidArgument(name, value, 'an integer')
  if (typeof value !== 'number') return Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' })
  return Object.assign(new RangeError(error.message), { code: 'ERR_OUT_OF_RANGE' })
}
