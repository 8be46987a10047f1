// A root that somebody has put together may be without /dev/null, which every program is given that is started without a stdin.
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN } from './command.ts'

const MISSING =
  'ENOENT: /dev/null cannot be opened, and without it no program is started: mount a /dev in this root, or mknod -m 666 /dev/null c 1 3\n'

function run(script: string, ...args: string[]) {
  const argv = ['-rm', 'sh', '-ec', `${script}; exec "$@"`, 'sh', process.execPath, MAIN, ...args]
  return spawnSync('unshare', argv, { encoding: 'utf8', timeout: 60_000 })
}

describe.skipIf(!mayUnshare || !existsSync(MAIN))('without /dev/null (needs unshare -rm and dist)', () => {
  const WITHOUT = 'mount -t tmpfs none /dev'

  test('reload names it, and not the program that was to be run', () => {
    const directory = scratch()
    writeFileSync(join(directory, 'key'), '1')
    const { status, stderr } = run(WITHOUT, 'reload', '--once', directory, '--', 'true')
    expect([status, stderr]).toEqual([1, `inotify-bridge reload: action failed: 'true': ${MISSING}`])
  })

  test('and what to do about one that may not be opened', () => {
    const script = `${WITHOUT}; touch /dev/null; chmod 0 /dev/null; exec setpriv --bounding-set=-all`
    const directory = scratch()
    const argv = ['-rm', 'sh', '-ec', `${script} "$@"`, 'sh', process.execPath, MAIN, 'reload', '--once']
    const { stderr } = spawnSync('unshare', [...argv, directory, '--', 'true'], { encoding: 'utf8' })
    expect(stderr).toContain("'true': EACCES: /dev/null cannot be opened")
    expect(stderr).toContain('chmod 666 /dev/null')
  })

  test('diagnose, where a process of its own is to look', () => {
    // Without a mount table, any mount may stop answering.
    const { status, stderr } = run(`${WITHOUT}; mount -t tmpfs none /proc`, 'diagnose', '/')
    expect([status, stderr]).toEqual([
      1,
      `inotify-bridge diagnose: the process that asks about / has ended: ${MISSING}`,
    ])
  })
})
