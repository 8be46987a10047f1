/** The kernel stamps files by a clock that ticks: 10 ms at the coarsest (CONFIG_HZ=100), and so much behind. */
export const CLOCK_SLACK_MS = 10
