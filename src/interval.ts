import { invalidArgument } from './errors.ts'

/** ms that a timer can wait (setTimeout); for more than that it does not wait at all. */
export const LONGEST_TIMER = 2 ** 31 - 1

/**
 * ms between two looks at a mount that is polled: what the environment's INOTIFY_BRIDGE_INTERVAL says, else the option, else 250.
 * Throws a TypeError that names the one which is wrong.
 */
export function pollInterval(option: number | undefined, environment: NodeJS.ProcessEnv): number {
  // Empty is as good as unset, as everywhere in the shell.
  const override = environment.INOTIFY_BRIDGE_INTERVAL || undefined
  const interval = override === undefined ? (option ?? 250) : Number(override)
  if (typeof interval === 'number' && interval >= 1 && interval <= LONGEST_TIMER) return interval
  const name = override === undefined ? 'options.interval' : 'INOTIFY_BRIDGE_INTERVAL'
  throw invalidArgument(name, override ?? interval, `a number of ms from 1 to ${LONGEST_TIMER}`)
}
