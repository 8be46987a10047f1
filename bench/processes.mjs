// Reads the figures of another process from /proc.
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

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

/**
 * Resolves when no thread of the process runs any more. SIGCONT lets the threads go on.
 * @param {number} pid
 */
export async function stop(pid) {
  process.kill(pid, 'SIGSTOP')
  const isStopped = (/** @type {string} */ thread) =>
    /^State:\s*T/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))
  while (!threads(pid).every(isStopped)) await setTimeout(1)
}
