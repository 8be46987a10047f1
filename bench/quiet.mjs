// Tells when a watcher has told all, for watchers that do not say so.
import { setTimeout } from 'node:timers/promises'

/**
 * The ms without anything new after which the wait ends, once all has been done: a queue that has overflowed
 * may have dropped any event.
 */
export const QUIET_MS = 700

/**
 * Resolves when nothing new comes, after the parent has sent a byte on stdin because all has been done. Must
 * be called before the parent may send the byte.
 * @param {() => number} count  Counts what has come.
 */
export async function untilQuiet(count) {
  let isOver = false
  process.stdin.once('data', () => {
    isOver = true
  })
  for (let known = -1, wasOver = false; !wasOver || count() > known; await setTimeout(QUIET_MS)) {
    known = count()
    wasOver = isOver
  }
}
