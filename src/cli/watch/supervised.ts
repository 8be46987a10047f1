import { spawnSync } from 'node:child_process'
import { findRun } from '../../addon.ts'
import { AddonLoadError, printable } from '../../errors.ts'
import { backendFor, capability } from '../../mounts/filesystems.ts'
import { mountOf } from '../../mounts/mount_of.ts'
import { settingsOf, type WatchOptions } from '../../watch/options.ts'
import { tell } from '../shared/output.ts'
import { runProgram } from '../shared/run_program.ts'

const DAY = 86_400_000

/**
 * Runs `inotify-bridge watch` with these words under the supervisor of `inotify-bridge run`, if any of the places lies on a silent mount: then what it hears of the kernel has what others
 * change as well. Returns the exit code; undefined if there is no need, or if it cannot be, which is said.
 *
 * @param places existing paths; for one that is not there no more is done
 */
export async function watchSupervised(
  words: readonly string[],
  places: readonly string[],
  { backend, interval }: Pick<WatchOptions, 'backend' | 'interval'>,
): Promise<number | undefined> {
  const settings = settingsOf({ ...(backend && { backend }), ...(interval && { interval }) })
  if (settings.backend === 'inotify') return undefined
  const silent = settings.backend === 'poll' ? places : places.filter(isSilent)
  if (silent.length === 0) return undefined
  const supervisor = supervisorOrWhyNot()
  if ('reason' in supervisor) {
    const { reason } = supervisor
    tell(`what others change on ${printable(silent[0] as string)} may not be told: ${reason}`, 'warning')
    return undefined
  }
  // Which silent mounts there are is known better here, by their names in mountinfo.
  const source = silent.length === places.length ? 'poll' : 'auto'
  const every = String(Math.min(Math.ceil(settings.interval), DAY))
  const options = ['--as-child', '--backend', source, '--interval', every]
  const command = [process.execPath, ...process.execArgv, process.argv[1] as string]
  const watch = ['watch', '--backend=inotify', ...words]
  return await runProgram(supervisor.path, [...options, '--', ...command, ...watch], environment())
}

function isSilent(place: string): boolean {
  try {
    return backendFor(capability(mountOf(place))) !== 'inotify'
  } catch {
    return false
  }
}

/** By having it run a program that does nothing: itself, which says how it is used. */
function supervisorOrWhyNot(): { path: string } | { reason: string } {
  try {
    const path = findRun()
    const trial = ['--report', '3', '--', path, '--help']
    const { status, output, error } = spawnSync(path, trial, {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      env: environment(),
      encoding: 'utf8',
    })
    if (status === 0) return { path }
    const [, message] = /"event":"error","message":("(?:[^"\\]|\\.)*")/.exec(output?.[3] ?? '') ?? []
    return { reason: message === undefined ? (error?.message ?? `exit code ${status}`) : JSON.parse(message) }
  } catch (error) {
    if (error instanceof AddonLoadError) return { reason: error.message }
    throw error
  }
}

/** Without the variables that have been taken into the options, which they would override. */
function environment(): NodeJS.ProcessEnv {
  const { INOTIFY_BRIDGE_BACKEND: _, INOTIFY_BRIDGE_INTERVAL: __, ...rest } = process.env
  return rest
}
