// When all has been told that will be, of those that say nothing of it.
import { setTimeout } from 'node:timers/promises'

/** ms without anything new, when all has been done, after which no more is waited for: a queue that has overflowed may have dropped any. */
export const QUIET_MS = 700

/**
 * Resolves when nothing new comes, after the parent has said by a byte on stdin that all has been done. To be called before it may say so.
 * @param {() => number} count  Of what has come.
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
