import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** An hour, in seconds: whoever does not have names looked up anew sees nothing before that. */
const REMEMBERED = 3600

/**
 * Starts a server that must not outlive this process; it has mounted `front` when this resolves. Throws what it complained of.
 *
 * @param {string[]} argv
 * @param {string} front
 */
export async function serve(argv, front) {
  const server = spawn('setpriv', ['--pdeathsig', 'KILL', ...argv], { stdio: ['ignore', 'ignore', 'pipe'] })
  let failed = ''
  server.stderr.on('data', (data) => {
    failed += data
  })
  server.on('error', (error) => {
    failed += error
  })
  while (!fs.readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${front} `)) {
    if (server.exitCode !== null || server.pid === undefined)
      throw new Error(failed.trim() || `exit code ${server.exitCode}`)
    await sleep(2)
  }
  return server
}

/**
 * fuse_server.mjs, whose kernel remembers for an hour and judges modes itself, as virtiofs does.
 *
 * @param {string} back
 * @param {string} front
 * @param {string} [control] see there
 * @param {string} [tick] see there
 * @param {number} [remembered] for how long instead, in seconds
 */
export function serveFuse(back, front, control = '', tick = '1', remembered = REMEMBERED) {
  const program = join(import.meta.dirname, 'fuse_server.mjs')
  const argv = [program, back, front, String(remembered), 'default_permissions', control, '', tick]
  return serve([process.execPath, ...argv], front)
}

/**
 * Shows `back` at `front` by a kind of mount, or as it is: 'plain'. Returns the path at which it is shown.
 *
 * @param {string} kind
 * @param {string} back
 * @param {string} front
 */
export async function mount(kind, back, front) {
  if (kind === 'plain') return back
  fs.mkdirSync(front)
  if (kind === 'bindfs') await serve(['bindfs', '-f', '--no-allow-other', back, front], front)
  else await serveFuse(back, front)
  return front
}
