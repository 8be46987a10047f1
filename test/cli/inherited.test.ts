// A program that the command starts has the same as if started without the command.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { MAIN } from './command.ts'

const mayMount = spawnSync('unshare', ['-rm', 'true']).status === 0
const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0

/** Says what it has inherited: limits, signals that are blocked and ignored, the umask, descriptors, how it is killed for want of memory. */
const SAYS = `{ ulimit -Sn; ulimit -Hn; grep -E '^Sig(Blk|Ign)' /proc/self/status; umask; ls /proc/self/fd | tr '\\n' ' '; echo; cat /proc/self/oom_score_adj; env | grep -c ^NODE_ || :; } > "$1"`

const limits = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, 2).map(Number)

// Varied: which of them starts a program.
const WAYS = {
  'reload -- COMMAND': (base: string, said: string) => [
    'reload',
    '--once',
    join(base, 'source'),
    '--',
    'sh',
    '-c',
    SAYS,
    'sh',
    said,
  ],
  '--validate': (base: string, said: string) => [
    'reload',
    '--once',
    join(base, 'source'),
    '--validate',
    'sh',
    ...['-c', SAYS, 'sh', said].map((arg) => `--validate-arg=${arg}`),
    '--',
    'true',
  ],
  '--in-place -- COMMAND': (base: string, said: string) => [
    'mirror',
    join(base, 'source'),
    '--in-place',
    '--',
    'sh',
    '-c',
    SAYS,
    'sh',
    said,
  ],
}

describe.skipIf(!existsSync(MAIN) || !hasPrlimit).each(Object.keys(WAYS) as Array<keyof typeof WAYS>)(
  'a program of %s (needs dist and prlimit)',
  (way) => {
    const isSkipped = way.startsWith('--in-place') && !mayMount
    /** Started below a shell which has these limits, or by a program that gives them to the command alone. */
    function started(soft: number, hard: number, ...by: string[]): string {
      const base = scratch()
      const said = join(base, 'said')
      spawnSync('mkdir', [join(base, 'source')])
      writeFileSync(join(base, 'source/a'), 'one')
      const command = [process.execPath, MAIN, ...WAYS[way](base, said)]
      const { status, stderr } = spawnSync('prlimit', [`--nofile=${soft}:${hard}`, ...by, ...command], {
        encoding: 'utf8',
      })
      expect([status, stderr.replace(/inotify-bridge mirror: (mirroring|update).*\n/g, '')]).toEqual([0, ''])
      return said
    }
    const below = ['sh', '-c', '"$@"; exit $?', 'sh']

    test.skipIf(isSkipped).each([
      [600, 4096],
      [1024, 4096],
      [2048, 4096],
    ])('has the soft limit of the shell that the command was started by: %d of %d', (soft, hard) => {
      expect(limits(started(soft, hard, ...below))).toEqual([soft, hard])
    })

    test.skipIf(isSkipped).each([
      [1024, 4096],
      [1024, 1024],
      [512, 512],
    ])('has the usual one where nothing tells of another: %d of %d', (soft, hard) => {
      expect(limits(started(soft, hard))).toEqual([soft, hard])
    })

    test.skipIf(isSkipped)('has nothing of this process besides: signals, descriptors, umask', () => {
      const said = join(scratch(), 'said')
      spawnSync('prlimit', ['--nofile=1024:4096', 'sh', '-c', SAYS, 'sh', said])
      expect(readFileSync(started(1024, 4096), 'utf8')).toBe(readFileSync(said, 'utf8'))
    })
  },
)
