import { readFileSync, writeFileSync } from 'node:fs'

const LIMIT = '/proc/sys/fs/inotify/max_queued_events'

export const mayLimitQueue = (() => {
  try {
    writeFileSync(LIMIT, readFileSync(LIMIT))
    return true
  } catch {
    return false
  }
})()

/**
 * The kernel reads the limit when an instance is made: for so long it is another, for everybody.
 *
 * @template T
 * @param {number} limit
 * @param {() => T} make
 * @returns {T}
 */
export function withQueueLimit(limit, make) {
  if (!mayLimitQueue) return make()
  const before = readFileSync(LIMIT)
  try {
    writeFileSync(LIMIT, String(limit))
    return make()
  } finally {
    writeFileSync(LIMIT, before)
  }
}
