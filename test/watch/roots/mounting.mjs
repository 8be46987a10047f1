// For programs that run in a mount namespace of their own.
import { spawnSync } from 'node:child_process'

/**
 * Runs mount(8) or umount(8). What is looked into at this moment, by a thread, is busy (EBUSY), and is tried again.
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
