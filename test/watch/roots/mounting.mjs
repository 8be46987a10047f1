// Mounting for programs that run in a mount namespace of their own.
import { spawnSync } from 'node:child_process'

/**
 * Runs mount(8) or umount(8), and tries again on EBUSY: a directory that a thread has open at this moment is
 * busy.
 * @param {string} command
 * @param {string[]} args
 */
export function run(command, ...args) {
  let failed = ''
  for (let attempt = 1; attempt <= 100; attempt++) {
    const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
    if (status === 0) return
    failed = stderr
  }
  throw new Error(failed)
}
