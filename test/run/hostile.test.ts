// Whatever a program asks, `run` answers as the kernel does, and goes on serving.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compile } from '../support/compile.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { as, forAll, grounds, isRoot, needed, obstacle, RUN, Served, served } from './served.ts'

const table = () => compile('run_table')

/** A directory of anybody's, in another whose entries are few. */
function open(within: string, name: string): string {
  const path = join(within, name)
  mkdirSync(path)
  chmodSync(path, 0o777)
  return path
}

/** The answers without `run`. */
function plain(...argv: string[]): string[] {
  const [file = '', ...args] = argv
  const { status, stdout } = spawnSync(file, args, { encoding: 'utf8' })
  expect(status).toBe(0)
  const lines = stdout.split('\n').slice(0, -1)
  expect(lines.length).toBeGreaterThan(80)
  return lines
}

/** Each line of --json, whatever its path is. */
const shown = ({ said }: Served): Array<{ path: string; source: string }> =>
  said
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

describe.skipIf(obstacle !== '')(`run${obstacle && ` (${obstacle})`}`, () => {
  test.each([
    ['--all', []],
    ['--try', []],
    ['--all, and kcmp(2) is refused', [compile('seccomp'), '1', 'kcmp']],
  ])('each call has the answer that it has without (%s)', async (name, before) => {
    const [program, place] = [table(), scratch()]
    const run = [...before, RUN, name.slice(0, 5), '--json', '--']
    const under = new Served([...run, program, open(place, 'under')])
    expect(await under.end()).toBe(0)
    expect(under.lines).toEqual(plain(program, open(place, 'plain')))
    expect(shown(under)).not.toEqual([])
  })

  test.skipIf(!isRoot)(`a supervisor that is root opens for nobody what that may not${needed}`, async () => {
    const { place, run } = forAll()
    const program = join(place, 'table')
    copyFileSync(table(), program)
    const argv = (name: string) => [program, open(place, name)]
    const expected = plain(...as(65_534), ...argv('plain'))
    expect(expected).toContain('below that: Permission denied')
    const inside = new Served([run, '--all', '--', ...as(65_534), ...argv('inside')])
    expect(await inside.end()).toBe(0)
    expect(inside.lines).toEqual(expected)
    const outside = new Served([...as(65_534), run, '--all', '--', ...argv('outside')])
    expect(await outside.end()).toBe(0)
    expect(outside.lines).toEqual(expected)
  })

  test('random calls, memory that changes and goes, killed threads and processes: it goes on', async () => {
    const options = ['--all', '--interval', '5', '--json']
    const storm = served(
      options,
      compile('run_hostile', ['-pthread']),
      open(scratch(), 'x'),
      String(rounds(process.env.SECONDS, { quick: 2, long: 5 })),
    )
    expect(await storm.end()).toBe(0)
    expect(storm.lines).toEqual([expect.stringMatching(/^\d{2,} calls$/), 'heard'])
    expect(new Set(shown(storm).map(({ source }) => source))).toEqual(new Set(['poll', 'inotify']))
    expect(grounds(storm.pid)).toEqual([])
  })
})
