// The ways to watch one directory that are compared within node, each as its users have it: all ask the
// kernel for the same events, and look at the name of every event as a string.
import { watch } from 'node:fs'
import { createRequire } from 'node:module'

/**
 * @typedef {(name: string, mask: number, wd: number) => void} OnEvent
 * @typedef {(onEvent: OnEvent) => Promise<() => void>} Watch  Resolves, when the watch is placed, to what ends it.
 */

/**
 * Returns a way to watch. fs.watch tells neither mask nor wd: its listener gets 0.
 * @param {string} watcher
 * @param {string} directory
 * @param {{ maxQueuedBytes?: number }} [options]
 * @returns {Watch}
 */
export function watchBy(watcher, directory, options) {
  switch (watcher) {
    case 'inotify-bridge':
      return async (onEvent) => {
        // Imports here, so that a child that watches by other means does not pay for the import.
        const { Inotify, ...IN } = await import('../../dist/inotify.js')
        const inotify = new Inotify(options)
        // The mask that libuv uses for fs.watch.
        const changes = IN.IN_ATTRIB | IN.IN_CREATE | IN.IN_MODIFY | IN.IN_DELETE
        const moves = IN.IN_MOVED_FROM | IN.IN_MOVED_TO | IN.IN_DELETE_SELF | IN.IN_MOVE_SELF
        inotify.add(directory, changes | moves)
        inotify.on('events', (batch) => {
          for (let i = 0; i < batch.length; i++) onEvent(batch.name(i), batch.mask(i), batch.wd(i))
        })
        return () => inotify.close()
      }
    // Calls a function by Node-API for each event, without any other JavaScript: for writers that make few
    // events at a time.
    case 'the addon alone':
      return async (onEvent) => {
        const { Queue } = createRequire(import.meta.url)('../../build/Release/inotify_bridge.node')
        const queue = new Queue()
        queue.open(
          { batchWindow: 1, arenaBytes: 64 * 1024 * 1024, persistent: true },
          (
            /** @type {number} */ wd,
            /** @type {number} */ mask,
            /** @type {number} */ _,
            /** @type {string} */ name,
          ) => onEvent(name, mask, wd),
          (/** @type {Int32Array} */ rows, /** @type {string[]} */ [names = '']) => {
            for (let at = 0, start = 0; at < rows.length; at += 4) {
              const [wd = 0, mask = 0, , end = 0] = rows.subarray(at, at + 4)
              onEvent(names.slice(start, end), mask, wd)
              start = end
            }
          },
          (/** @type {number} */ errno) => {
            throw new Error(`read: ${errno}`)
          },
        )
        // The mask that libuv uses for fs.watch.
        queue.add(directory, 0xfc6)
        queue.resume()
        return () => queue.close()
      }
    case 'fs.watch':
      return async (onEvent) => {
        const watcher = watch(directory, (_, name) => onEvent(name ?? '', 0, 0))
        return () => watcher.close()
      }
    case 'bare node':
      return async () => {
        process.stdin.resume() // which keeps it alive, as a watcher keeps the others
        return () => process.stdin.pause()
      }
    default:
      throw new Error(`no way to watch is called ${watcher}`)
  }
}

export const IN_Q_OVERFLOW = 0x4000

/**
 * Counts events until a name begins with "last", and resolves. Calls `onPlaced` once the watch is there, and
 * `onEvent` for each counted event. Counts IN_Q_OVERFLOW apart.
 * @param {Watch} watch
 * @param {() => void} onPlaced
 * @param {OnEvent} onEvent
 * @returns {Promise<{ delivered: number, overflows: number }>}
 */
export async function countUntilLast(watch, onPlaced, onEvent) {
  let delivered = 0
  let overflows = 0
  /** @type {() => void} */
  let resolve
  /** @type {Promise<void>} */
  const last = new Promise((resolver) => {
    resolve = resolver
  })
  const close = await watch((name, mask, wd) => {
    if (name.startsWith('last')) return resolve()
    if (mask & IN_Q_OVERFLOW) {
      overflows++
      return
    }
    delivered++
    onEvent(name, mask, wd)
  })
  onPlaced()
  await last
  close()
  return { delivered, overflows }
}
