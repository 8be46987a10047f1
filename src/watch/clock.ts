/**
 * The kernel stamps files by a clock that ticks, so a file's time is behind this process's by a tick: 10 ms at the coarsest (CONFIG_HZ=100).
 * On a busy machine the tick comes late: 8.04 ms were seen where 4 are the rule. Changes of that long before are compared once more.
 */
export const CLOCK_SLACK_MS = 25

/** The time, and tasks that run when some has passed. */
export interface Clock {
  /** Returns ms since the epoch, to be compared with the times of files. */
  now(): number
  /** Returns ms since some moment; never goes back. */
  elapsed(): number
  /** Returns ms of a core that this process has used. */
  cpu(): number
  /** Runs a task in `ms`; the process does not stay alive for it. Returns the function that cancels it. */
  after(ms: number, task: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  cpu: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
  after: (ms, task) => {
    const timer = setTimeout(task, ms).unref()
    return () => clearTimeout(timer)
  },
}
