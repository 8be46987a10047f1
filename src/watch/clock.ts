/**
 * The kernel stamps files by a clock that ticks, so a file's time is behind this process's by a tick: 10 ms at the coarsest (CONFIG_HZ=100). On a
 * busy machine the tick itself comes late: 8.04 ms were seen where 4 are the rule. So much of what was done before is compared once more.
 */
export const CLOCK_SLACK_MS = 25

/** Time, and what is to be done when some has passed. */
export interface Clock {
  /** ms since the epoch: what the times of files are compared with. */
  now(): number
  /** ms since some moment; never goes back. */
  elapsed(): number
  /** Runs a task in `ms`, for which the process does not stay. Returns what takes that back. */
  after(ms: number, task: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (ms, task) => {
    const timer = setTimeout(task, ms).unref()
    return () => clearTimeout(timer)
  },
}
