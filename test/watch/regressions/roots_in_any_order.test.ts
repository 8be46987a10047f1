// Roots that lie in each other: the order of the roots does not change what is told.
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Change, type Kind, type WatchOptions, watch } from '../../../src/entries/watch.ts'
import { scratch } from '../../support/scratch.ts'
import { inWords, randomFrom, watching } from '../support.ts'

const NEVER = 1_000_000

const PATHS = [
  ...['r', 'r/f', 'r/s', 'r/s/f', 'r/s/l', 'r/l', 'r/d', 'r/d/g', 'r/none', 'r/to s', 'r/to s/f'],
  ...['o', 'o/x', 'to r', 'to r/f', 'none/at all'],
]

function world(): string {
  const base = scratch()
  for (const directory of ['r/s', 'r/d', 'o']) mkdirSync(join(base, directory), { recursive: true })
  for (const file of ['o/x', 'r/z', 'r/f', 'r/s/f', 'r/d/g']) writeFileSync(join(base, file), '')
  for (const [to, link] of [
    ['../o/x', 'r/l'],
    ['../../o/x', 'r/s/l'],
    ['s', 'r/to s'],
    ['r', 'to r'],
  ] as const)
    symlinkSync(to, join(base, link))
  return base
}

function inAnyOrder(paths: string[], random: (n: number) => number): string[] {
  return paths
    .map((path) => ({ path, at: random(1000) }))
    .sort((a, b) => a.at - b.at)
    .map(({ path }) => path)
}

/** Watches by watch(), which looks within the call; `watching` does not. */
async function watchedNow(paths: string[], options: WatchOptions) {
  const watcher = watch(paths, { interval: NEVER, ...options })
  onTestFinished(() => watcher.close())
  const lines: string[] = []
  watcher.on('changes', (changes) => lines.push(...changes.map((change) => inWords(change, '/'))))
  await watcher.ready
  await watcher.sync()
  return { watcher, lines }
}

describe.each([true, false])('recursive: %s', (recursive) => {
  test.each([
    ['r/l', 'r'],
    ['r/f', 'r'],
    ['r/s/f', 'r'],
    ['r/s/l', 'r/s', 'r'],
    ['r/l', 'o'],
    ['o/x', 'r/l', 'o'],
  ])('%s, %s: nothing is told while nothing happens', async (...given) => {
    const base = world()
    const paths = given.flatMap((path) => (path === undefined ? [] : [join(base, path)]))
    expect((await watchedNow(paths, { recursive })).lines).toEqual([])
  })

  test.each(Array.from({ length: 8 }, (_, i) => i + 1))('any roots in any order (%i)', async (seed) => {
    const random = randomFrom(seed)
    const base = world()
    const some = PATHS.filter(() => random(3) > 0).map((path) => join(base, path))
    const shuffled = inAnyOrder(some, random)
    const { watcher, lines } = await watchedNow(shuffled, { recursive })
    expect(lines, shuffled.join(' ')).toEqual([])
    const { watcher: other, told } = await watching(some, { recursive, interval: NEVER })
    for (const file of ['r/z', 'r/s/f', 'o/x', 'r/d/g']) appendFileSync(join(base, file), 'x')
    await watcher.sync()
    const expected = (await told()).map((change) => inWords(change, '/'))
    expect(lines.toSorted(), shuffled.join(' ')).toEqual(expected.toSorted())
    const [removed = ''] = shuffled
    lines.length = 0
    await watcher.remove(removed)
    await other.remove(removed)
    for (const file of ['r/z', 'r/s/f', 'o/x']) appendFileSync(join(base, file), 'y')
    await watcher.sync()
    expect(lines.toSorted()).toEqual((await told()).map((change) => inWords(change, '/')).toSorted())
  })
})

const NEAR = ['r', 'r/f', 'r/s', 'r/s/f', 'r/s/l', 'r/l', 'r/d', 'o']

/** The names that have been told to be there, and what did not fit to them. */
function consumer() {
  const names = new Map<string, Kind>()
  const wrong: string[] = []
  const take = (change: Change) => {
    const { type, path } = change
    if (!('kind' in change) || type === 'lost' || type === 'restored') return
    if ((type === 'create') === names.has(path)) wrong.push(`${type} ${path}`)
    if (type !== 'delete') names.set(path, change.kind)
    else
      for (const each of [...names.keys()])
        if (each === path || each.startsWith(`${path}/`)) names.delete(each)
  }
  return { names, wrong, take }
}

describe.each([
  { recursive: true, backend: 'auto' },
  { recursive: false, backend: 'auto' },
  { recursive: true, backend: 'poll' },
  { recursive: true, backend: 'auto', followSymlinks: true },
] as const)('$backend, recursive: $recursive, followSymlinks: $followSymlinks', (options) => {
  test.each([1, 2, 3, 4, 5, 6])(
    'what is told of roots in each other is what entries() shows (%i)',
    async (seed) => {
      const random = randomFrom(seed)
      const base = world()
      const interval = options.backend === 'poll' ? 20 : NEVER
      const shuffled = inAnyOrder(
        NEAR.filter((path) => path === 'r' || random(3) > 0).map((path) => join(base, path)),
        random,
      )
      const watcher = watch(shuffled, { ...options, interval, initial: true })
      onTestFinished(() => watcher.close())
      const { names, wrong, take } = consumer()
      const lines: string[] = []
      watcher.on('changes', (changes) => {
        for (const change of changes) take(change)
        lines.push(...changes.map((change) => inWords(change, base)))
      })
      await watcher.ready
      const check = async (what: string) => {
        await watcher.sync()
        lines.push(`| ${what}`)
        const shown = [...watcher.entries()].filter(({ path }) => !shuffled.includes(path) || names.has(path))
        const story = `${shuffled.map((path) => path.slice(base.length + 1)).join(' ')}: ${lines.join('; ')}`
        expect(wrong, story).toEqual([])
        expect(Object.fromEntries(names), story).toEqual(
          Object.fromEntries(shown.map(({ path, kind }) => [path, kind])),
        )
      }
      await check('ready')
      for (const file of ['r/f', 'r/s/f', 'o/x']) appendFileSync(join(base, file), 'x')
      await check('written')
      await watcher.setIgnore([/(^|\/)[lf]$/])
      await check('some are ignored')
      appendFileSync(join(base, 'o/x'), 'y')
      await check('written meanwhile')
      await watcher.setIgnore(undefined)
      await check('they are not ignored any more')
      for (const file of ['r/l', 'r/f']) rmSync(join(base, file))
      await watcher.sync()
      expect(wrong, lines.join('; ')).toEqual([])
    },
  )
})
