// hidepid, an option of procfs: who may not trace a process is not shown what is in its directory (1), nor that it is there (2). See proc(5).
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MAIN } from '../cli/command.ts'
import { AS_NOBODY, giveAway, isRoot } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'

const mayHide =
  isRoot &&
  spawnSync('unshare', ['-mpf', 'mount', '-t', 'proc', '-o', 'hidepid=2', 'proc', '/proc']).status === 0

const THEIRS = 'ib-theirs'
const MAY_NOT =
  /^EACCES: .* \(process \d+ may not be looked at: \/proc shows none of other users' here \(hidepid\)/

/**
 * Runs a program of Node's as nobody, in a pid namespace with such a /proc, beside a process of root's, whose pid is put behind the
 * program's arguments. What it has printed.
 */
function asNobody(hidepid: string, args: readonly string[]): string {
  const theirs = join(scratch(), THEIRS)
  copyFileSync(realpathSync('/bin/sleep'), theirs)
  const script = `mount -t proc -o hidepid="$1" proc /proc; "$2" 1000 & shift 2; "$@" "$!"`
  const ran = spawnSync(
    'unshare',
    [
      '-mpf',
      '--kill-child',
      'sh',
      '-ec',
      script,
      'sh',
      hidepid,
      theirs,
      'setpriv',
      ...AS_NOBODY,
      process.execPath,
      ...args,
    ],
    { encoding: 'utf8', cwd: '/', timeout: 120_000, killSignal: 'SIGKILL' },
  )
  expect(ran.status, ran.stderr).toBe(0)
  return ran.stdout
}

function theirDirectory(): string {
  const directory = scratch()
  giveAway(directory)
  return directory
}

describe.skipIf(!mayHide || !existsSync(MAIN)).each(['1', '2'])(
  'where /proc has hidepid=%s (needs root, and dist)',
  (hidepid) => {
    test('one’s own processes are signalled by every name, those of others said to be hidden', () => {
      const program = join(import.meta.dirname, 'hidden_processes.mjs')
      const { own, gone, others, limits, listed } = JSON.parse(
        asNobody(hidepid, [program, theirDirectory(), THEIRS]),
      )
      expect(own).toEqual({
        pid: 'reload',
        pidFile: 'reload',
        process: 'reload',
        command: 'reload',
        killed: expect.stringMatching(/timed out after 50 ms: its process group was killed by SIGTERM/),
      })
      expect(gone).toEqual({
        pid: expect.stringContaining('ESRCH'),
        pidFile: expect.stringContaining('there is none'),
      })
      expect(others).toEqual({
        pid: expect.stringMatching(MAY_NOT),
        pidFile: expect.stringMatching(MAY_NOT),
        process: expect.stringMatching(
          /^no process is called 'ib-theirs': .* \/proc shows none of other users' processes here \(hidepid\)$/,
        ),
      })
      expect(listed).toBe(hidepid === '1')
      // The user's own instances and watches are visible, and only they count against the user's limits.
      expect(limits.instancesInUse).toBeGreaterThanOrEqual(1)
      expect(limits.watchesInUse).toBeGreaterThanOrEqual(1)
    })

    test('a program has its source mirrored in place', () => {
      const source = theirDirectory()
      writeFileSync(join(source, 'a'), 'content')
      const script = 'cat "$0"'
      const command = ['mirror', source, '--in-place', '--', 'sh', '-c', script, join(source, 'a')]
      expect(asNobody(hidepid, [MAIN, ...command])).toBe('content')
    })
  },
)
