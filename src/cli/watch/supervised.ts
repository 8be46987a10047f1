import { findRun } from '../../addon.ts'
import { messageOf, printable } from '../../errors.ts'
import { backendFor, capability } from '../../mounts/filesystems.ts'
import { mountOf } from '../../mounts/mount_of.ts'
import { DAY, wordsOf } from '../../run/options.ts'
import { RunningProgram } from '../../run/running_program.ts'
import { settingsOf, type WatchOptions } from '../../watch/options.ts'
import type { Ending } from '../shared/ending.ts'
import { tell } from '../shared/output.ts'
import { standFor } from '../shared/run_program.ts'

/**
 * Runs `inotify-bridge watch` with these arguments under the supervisor of `inotify-bridge run`, if any of the places lies on a silent mount:
 * the kernel then tells the watch of what others change as well. A warning says so where the supervisor cannot serve the watch.
 * Returns the watch's end; undefined if the watch needs no supervisor, or if there is none for this platform.
 *
 * @param places existing paths; for one that is not there no more is done
 */
export async function watchSupervised(
  args: readonly string[],
  places: readonly string[],
  { backend, interval }: Pick<WatchOptions, 'backend' | 'interval'>,
): Promise<Ending | undefined> {
  const settings = settingsOf({ ...(backend && { backend }), ...(interval && { interval }) })
  if (settings.backend === 'inotify') return undefined
  const silent = settings.backend === 'poll' ? places : places.filter(isSilent)
  if (silent.length === 0) return undefined
  const warn = (why: string) =>
    tell(`what others change on ${printable(silent[0] as string)} may not be told: ${why}`, 'warning')
  let supervisor: string
  try {
    supervisor = findRun()
  } catch (error) {
    warn(messageOf(error))
    return undefined
  }
  // Taken into the options, which these would override.
  const { INOTIFY_BRIDGE_BACKEND: _, INOTIFY_BRIDGE_INTERVAL: __, ...env } = process.env
  const end = args.includes('--') ? args.indexOf('--') : args.length
  const watch = ['watch', ...args.toSpliced(end, 0, '--backend=inotify')]
  const node = [...process.execArgv, process.argv[1] as string, ...watch]
  // Which silent mounts there are is known better here, by their names in mountinfo.
  const source = silent.length === places.length ? 'poll' : 'auto'
  const every = Math.min(Math.ceil(settings.interval), DAY)
  const words = wordsOf(process.execPath, node, { backend: source, interval: every, try: true, env })
  const running = new RunningProgram(supervisor, ['--as-child', ...words], { env, stdio: 'inherit' })
  return await standFor(running.on('warning', warn))
}

function isSilent(place: string): boolean {
  try {
    return backendFor(capability(mountOf(place))) !== 'inotify'
  } catch {
    return false
  }
}
