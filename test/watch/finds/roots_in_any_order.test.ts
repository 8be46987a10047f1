// In which order roots are named that lie in each other does not change what is told.
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type WatchOptions, watch } from '../../../src/entries/watch.ts'
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

/** Looked at within the call, which `watching` does not. */
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
    const shuffled = some
      .map((path) => ({ path, at: random(1000) }))
      .sort((a, b) => a.at - b.at)
      .map(({ path }) => path)
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
