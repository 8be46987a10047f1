// The mounts that a test names, by `parameters.mount`.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A tmpfs of the guest's. */
export const MEMORY = '/mnt/memory'

/** @typedef {{ type: string, source?: string, options: string }} Mount */

/**
 * A run's directory as the library sees it, and the same one behind the mount if it is this guest that makes changes there.
 *
 * @typedef {{ front: string, behind?: string }} Mounted
 */

/**
 * @param {{ mount?: Mount }} parameters the test's
 * @param {string} directory this run's, on the share
 * @param {string} name this run's
 * @returns {Mounted}
 */
export function mounted({ mount }, directory, name) {
  if (mount === undefined) return { front: directory }
  if (mount.type === 'bindfs') return bindfs(mount, name)
  return { front: join(ofShare(mount), name) }
}

/** Of the same directory as the share; once for all scenarios: a device of 9p serves one mount. @param {Mount} mount */
function ofShare({ type, source = '', options }) {
  const point = join(MEMORY, 'front')
  if (readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${point} `)) return point
  mkdirSync(point)
  run('mount', ['-t', type, '-o', options, source, point])
  return point
}

/** A server of its own for each run, which goes with the guest. @param {Mount} mount @param {string} name @returns {Mounted} */
function bindfs({ options }, name) {
  const front = join(MEMORY, name, 'front')
  const behind = join(MEMORY, name, 'behind')
  for (const path of [front, behind]) mkdirSync(path, { recursive: true })
  run('bindfs', [...(options === '' ? [] : ['-o', options]), behind, front])
  return { front, behind }
}

/** @param {string} program @param {string[]} argv */
export function run(program, argv) {
  const { status, stderr, error } = spawnSync(program, argv, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr}`)
}
