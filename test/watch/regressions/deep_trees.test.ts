// Work in a deep tree costs as much for each level as in a shallow one.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { WatchOptions } from '../../../src/index.ts'
import { compile } from '../../support/compile.ts'
import { descriptorsBelow } from '../../support/descriptors.ts'
import { scratch } from '../../support/scratch.ts'
import { watching } from '../support.ts'

const chain = (...args: string[]) => void execFileSync(compile('chain'), args, { stdio: 'pipe' })

// The long chain is eight times the short one, and its paths are just short enough for the kernel.
const [SHORT, LONG] = [200, 1600]
// Eight times the cost, and twice that for fixed costs. Quadratic work would cost 64 times as much.
const MOST_TIMES = 16
// Beside other processes a processor does less in the same time, so both are measured in each run. Quadratic work costs too much in all.
const MOST_RUNS = 3
// Below so many ms the test would measure the machine.
const LEAST = 50

interface Scenario {
  title: string
  options?: WatchOptions
  /** The chain is there when the watch begins. */
  isThere: boolean
  act: (tree: { watched: string; outside: string; levels: number }) => void
  /** The number of changes. */
  changes: (levels: number) => number
}

/** Returns the directory at a level of the chain in a tree. */
const at = (watched: string, level: number) => `${watched}/chain${'/d'.repeat(level)}`

const atEachLevel = (act: (directory: string) => void) => (tree: { watched: string; levels: number }) => {
  for (let level = 1; level <= tree.levels; level++) act(at(tree.watched, level))
}

const scenarios: Scenario[] = [
  {
    title: 'a file is made at each level',
    isThere: true,
    act: atEachLevel((directory) => writeFileSync(`${directory}/f`, '')),
    changes: (levels) => levels,
  },
  {
    title: 'a directory is made at each level',
    isThere: true,
    act: atEachLevel((directory) => mkdirSync(`${directory}/e`)),
    changes: (levels) => levels,
  },
  {
    title: 'each level is renamed',
    isThere: true,
    act: ({ watched, levels }) => {
      for (let level = levels; level > 0; level--) {
        renameSync(at(watched, level), `${at(watched, level - 1)}/e`)
      }
    },
    changes: (levels) => levels,
  },
  {
    title: 'a chain is moved in',
    isThere: false,
    act: ({ watched, outside, levels }) => {
      chain('make', join(outside, 'chain'), String(levels))
      renameSync(join(outside, 'chain/d'), join(watched, 'chain/d'))
    },
    changes: (levels) => levels + 1,
  },
  {
    title: 'a chain is moved in, where links are followed',
    options: { followSymlinks: true },
    isThere: false,
    act: ({ watched, outside, levels }) => {
      chain('make', join(outside, 'chain'), String(levels))
      renameSync(join(outside, 'chain/d'), join(watched, 'chain/d'))
    },
    changes: (levels) => levels + 1,
  },
  {
    title: 'a chain is made, where something is ignored',
    options: { ignore: ['/nowhere'] },
    isThere: false,
    act: ({ watched, levels }) => chain('make', join(watched, 'chain'), String(levels)),
    changes: (levels) => levels + 1,
  },
]

/**
 * Returns the ms of processor time of this process until sync() has told what was done in a chain of so many
 * levels.
 */
async function costOf({ options, isThere, act, changes }: Scenario, levels: number): Promise<number> {
  const base = mkdtempSync('/dev/shm/ib-')
  const [watched, outside] = [join(base, 'w'), join(base, 'o')]
  for (const path of [watched, outside]) mkdirSync(join(path, 'chain'), { recursive: true })
  // The chain is deeper than rmSync goes.
  onTestFinished(() => void execFileSync('rm', ['-rf', base]), 60_000)
  if (isThere) chain('make', join(watched, 'chain'), String(levels))
  const { watcher, told } = await watching(watched, { recursive: true, backend: 'inotify', ...options })
  await told()
  act({ watched, outside, levels })
  const before = process.cpuUsage()
  const seen = (await told()).filter(({ type }) => type === 'create' || type === 'rename')
  const { user, system } = process.cpuUsage(before)
  expect(seen).toHaveLength(changes(levels))
  await watcher.close()
  return (user + system) / 1000
}

test.each(scenarios.map((scenario) => [scenario.title, scenario] as const))(
  '%s: that costs sync() as much for a level of many as for one of few',
  async (_, scenario) => {
    // The first run compiles the code.
    await costOf(scenario, SHORT)
    const figures: string[] = []
    let least = Number.POSITIVE_INFINITY
    for (let run = 0; run < MOST_RUNS && least >= MOST_TIMES; run++) {
      const [short, long] = [await costOf(scenario, SHORT), await costOf(scenario, LONG)]
      least = Math.min(least, long / Math.max(LEAST, short))
      figures.push(`${Math.round(long)} ms for ${LONG} levels, ${Math.round(short)} ms for ${SHORT}`)
    }
    expect(least, figures.join('; ')).toBeLessThan(MOST_TIMES)
  },
)

test('what is held open on the way through a deep tree is closed as soon as all is told', async () => {
  const root = scratch('/dev/shm')
  chain('make', root, '150')
  const { told } = await watching(root, { recursive: true, backend: 'inotify', ignore: ['/nowhere'] })
  expect(descriptorsBelow(root)).toBe(0)
  mkdirSync(join(root, 'new'))
  chain('make', join(root, 'new'), '100')
  expect((await told()).filter(({ type }) => type === 'create')).toHaveLength(102)
  expect(descriptorsBelow(root)).toBe(0)
})
