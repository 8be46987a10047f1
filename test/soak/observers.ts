import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Change, WatchOptions } from '../../src/index.ts'
import type { Observer } from '../watch/model/watching/observer.ts'

/**
 * The built library, as its users run it. The path is not a literal, because dist is missing before the
 * build.
 */
export const library: typeof import('../../src/index.ts') = await import(
  join(import.meta.dirname, '../../dist/index.js')
)

/** Takes a watcher's changes and errors. */
export interface Listener {
  told(changes: Change[], at: number): void
  /** Takes the code of an error. */
  failed(code: string): void
}

export type Observe = (roots: string[], options: WatchOptions, listener: Listener) => Observer

export const here: Observe = (roots, options, { told, failed }) => {
  const watcher = library.watch(roots, options)
  watcher.on('changes', (changes) => told(changes, Date.now()))
  watcher.on('error', (error) => failed(codeOf(error)))
  return { ready: watcher.ready, sync: () => watcher.sync(), close: () => watcher.close() }
}

type Message = { changes: Change[]; at: number } | { error: string } | { done: 'ready' | 'sync' | 'close' }

/** Watches in a worker, which is terminated every other time instead of being closed. */
export const inWorker: Observe = (roots, options, { told, failed }) => {
  const worker = new Worker(join(import.meta.dirname, 'watching_worker.mjs'), {
    workerData: { roots, options },
  })
  const ended = once(worker, 'exit')
  const fails = once(worker, 'error').then(([error]) => Promise.reject(error))
  fails.catch(() => {})
  const waiting: Array<{ done: string; resolve(): void }> = []
  worker.on('message', (message: Message) => {
    if ('changes' in message) return told(message.changes, message.at)
    if ('error' in message) return failed(message.error)
    const index = waiting.findIndex(({ done }) => done === message.done)
    waiting.splice(index, 1)[0]?.resolve()
  })
  const until = (done: string) =>
    Promise.race([fails, new Promise<void>((resolve) => waiting.push({ done, resolve }))])
  const ask = (request: 'sync' | 'close') => {
    worker.postMessage(request)
    return until(request)
  }
  const ready = until('ready')
  return {
    ready,
    sync: () => ask('sync'),
    async close() {
      if (++closed % 2 === 0) await ask('close')
      else await worker.terminate()
      await ended
    },
  }
}

let closed = 0

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
