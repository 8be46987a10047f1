import { promises as nodes, type PathLike } from 'node:fs'
import { invalidArgument } from '../errors.ts'
import type { ChangeType, Filename } from './fs_watcher.ts'
import { type FSWatchOptions, watch as watchPath } from './watch.ts'

interface NodesOwn {
  watch(filename: PathLike, options: unknown): AsyncGenerator<never, never>
}

// As it is now: see watch.ts.
const { watch: nodeWatch } = nodes as unknown as NodesOwn

/** As fsPromises.watch() has it. */
export interface FSWatchEvent {
  eventType: ChangeType
  filename: Filename
}

/** As fsPromises.watch() has them. */
export interface FSWatchIteratorOptions extends FSWatchOptions {
  /** How many events wait for who iterates. @default 2048 */
  maxQueue?: number | undefined
  /** What becomes of one more: it is left out, with a process warning, or all that wait are, and iterating fails. @default 'ignore' */
  overflow?: 'ignore' | 'error' | undefined
}

/** As fsPromises.watch(): iterating gives events, and fails with an AbortError when the signal aborts. See {@link watchPath}. */
export async function* watch(
  filename: PathLike,
  options: FSWatchIteratorOptions = {},
): AsyncGenerator<FSWatchEvent, void> {
  // What is wrong, Node says as it says it.
  if (!isValid(options)) await nodeWatch(filename, options).next()
  const { maxQueue = 2048, overflow = 'ignore', signal, ...others } = options
  if (!Number.isInteger(maxQueue)) throw invalidArgument('options.maxQueue', maxQueue, 'an integer')
  if (overflow !== 'ignore' && overflow !== 'error')
    throw invalidArgument('options.overflow', overflow, `'ignore' or 'error'`)
  if (signal?.aborted) throw abortError(signal)
  const waiting: FSWatchEvent[] = []
  let failure: { error: unknown } | undefined
  let wake = () => {}
  const fail = (error: unknown) => {
    failure ??= { error }
    wake()
  }
  const watcher = watchPath(filename, others, (eventType, filename) => {
    if (waiting.length < maxQueue) waiting.push({ eventType, filename })
    else if (overflow === 'error') fail(overflowError(maxQueue))
    else process.emitWarning('fs.watch maxQueue exceeded')
    wake()
  })
  watcher.on('error', fail)
  const abort = () => fail(abortError(signal as AbortSignal))
  signal?.addEventListener('abort', abort, { once: true })
  try {
    for (;;) {
      for (let next = waiting.shift(); next !== undefined && failure === undefined; next = waiting.shift())
        yield next
      if (failure !== undefined) throw failure.error
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    watcher.close()
  }
}

function isValid(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return false
  const { persistent = true, recursive = false, encoding, signal } = options as Record<string, unknown>
  const isKnown = encoding == null || (typeof encoding === 'string' && Buffer.isEncoding(encoding))
  const isSignal = signal === undefined || signal instanceof AbortSignal
  return isKnown && isSignal && typeof persistent === 'boolean' && typeof recursive === 'boolean'
}

function abortError({ reason }: AbortSignal): Error {
  const error = new Error('The operation was aborted', { cause: reason })
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' })
}

function overflowError(maxQueue: number): Error {
  const message = `fs.watch() queued more than ${maxQueue} events`
  return Object.assign(new Error(message), { code: 'ERR_FS_WATCH_QUEUE_OVERFLOW' })
}
