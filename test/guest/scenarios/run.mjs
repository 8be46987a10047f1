import { spawnSync } from 'node:child_process'

/**
 * Runs a program to its end. Throws its error output.
 *
 * @param {string} program @param {string[]} argv
 */
export function run(program, argv) {
  const { status, stderr, error } = spawnSync(program, argv, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr}`)
}
