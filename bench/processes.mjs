// What /proc says of another process.
import { readdirSync, readFileSync } from 'node:fs'

/** @param {number} pid */
export const threads = (pid) => readdirSync(`/proc/${pid}/task`)

/** @param {number} pid */
export function wakeups(pid) {
  const counts = threads(pid).map((thread) =>
    numberIn(`/proc/${pid}/task/${thread}/status`, 'voluntary_ctxt_switches'),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/** @param {number} pid */
export const residentMiB = (pid) => numberIn(`/proc/${pid}/status`, 'VmRSS') / 1024

/**
 * @param {string} file
 * @param {string} key
 */
function numberIn(file, key) {
  return Number(new RegExp(`^${key}:\\s*(\\d+)`, 'm').exec(readFileSync(file, 'utf8'))?.[1])
}
