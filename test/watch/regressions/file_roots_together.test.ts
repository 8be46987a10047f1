// Files that are given to watch() together are looked at and watched together: in few steps, and as if each were added by itself.
import { appendFileSync, linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { inWords, watching } from '../support.ts'
import { observed } from './observed.ts'

const NEVER = 1_000_000

test('of 1,000 files in ten directories the directories are asked about, and each file is watched once', async () => {
  const base = scratch()
  const paths = Array.from({ length: 1000 }, (_, i) => join(base, `d${i % 10}`, `f${i}`))
  for (let i = 0; i < 10; i++) mkdirSync(join(base, `d${i}`))
  for (const path of paths) writeFileSync(path, '')
  const asked = new Map<string, { times: number; size: number }>()
  const count = (question: string, size: number) => {
    const before = asked.get(question) ?? { times: 0, size: 0 }
    asked.set(question, { times: before.times + 1, size: before.size + size })
  }
  const { changes } = await watching(paths, { interval: NEVER }, observed(count))
  const atMost = (most: number) => expect.toSatisfy((number) => number <= most)
  // Directories are resolved before they are watched and again after that; all else is asked once, after that.
  expect(Object.fromEntries(asked)).toEqual({
    followTogether: { times: 2, size: 20 },
    'followTogether answered': { times: 2, size: 20 },
    survey: { times: 1, size: 10 },
    'survey answered': { times: 1, size: 10 },
    walk: { times: 1, size: 10 },
    'walk answered': { times: 1, size: 10 },
    // A few for each directory, and for those above it.
    add: { times: atMost(1100), size: atMost(1100) },
  })
  for (const path of paths) appendFileSync(path, 'x')
  await expect.poll(() => new Set(changes.map(({ path }) => path)).size).toBe(paths.length)
})

describe('lists of all sorts are watched as if each path were added by itself, outer ones first', () => {
  function world(base: string): string[] {
    const at = (path: string) => join(base, path)
    mkdirSync(at('tree/sub'), { recursive: true })
    mkdirSync(at('beside'))
    for (const file of ['tree/f', 'tree/sub/f', 'beside/f', 'beside/g', 'h']) writeFileSync(at(file), file)
    linkSync(at('beside/f'), at('beside/second name'))
    for (const [to, link] of [
      ['tree', 'to tree'],
      ['beside/g', 'to file'],
      ['nowhere', 'to nothing'],
      ['round', 'round'],
      ['tree/../h', 'over and out'],
    ] as const)
      symlinkSync(to, at(link))
    const names = [
      ...['h', 'beside/f', 'beside/second name', 'beside/f', 'missing', 'beside/g', 'missing/too', 'h/below'],
      ...[
        'tree',
        'tree/f',
        'tree/sub/f',
        'tree/sub',
        'tree/missing',
        'to tree',
        'to tree/f',
        'to tree/sub/f',
      ],
      ...['to file', 'to nothing', 'round', 'over and out', 'beside', 'beside/missing', 'beside/f'],
    ]
    return names.map(at)
  }

  const OPERATIONS: ReadonlyArray<(at: (path: string) => string) => void> = [
    (at) => appendFileSync(at('beside/f'), 'more'),
    (at) => appendFileSync(at('beside/g'), 'more'),
    (at) => writeFileSync(at('missing'), ''),
    (at) => renameSync(at('beside/g'), at('gone')),
    (at) => renameSync(at('gone'), at('beside/g')),
    (at) => rmSync(at('tree/sub'), { recursive: true }),
    (at) => renameSync(at('h'), at('tree/f')),
    (at) => rmSync(at('to tree')),
  ]

  test.each(
    [true, false].flatMap((recursive) =>
      [true, false].flatMap((initial) =>
        [false, true].map((isReversed) => ({ recursive, initial, isReversed })),
      ),
    ),
  )('recursive: $recursive, initial: $initial, from the last on: $isReversed', async (options) => {
    const { isReversed, ...watchOptions } = options
    const play = async (isTogether: boolean) => {
      const base = scratch()
      const at = (path: string) => join(base, path)
      const paths = isReversed ? world(base).reverse() : world(base)
      const [first = '', ...others] = paths.toSorted((a, b) => a.length - b.length)
      const given = isTogether ? paths : [first]
      const { watcher, told } = await watching(given, { ...watchOptions, interval: NEVER })
      for (const path of isTogether ? [] : others) await watcher.add(path)
      const story: unknown[] = []
      const note = async () => {
        story.push((await told()).map((change) => inWords(change, base)).toSorted())
        const rows = watcher.coverage().map(({ path, ...row }) => ({ ...row, path: path.slice(base.length) }))
        const sorted = rows.toSorted((a, b) => (a.path < b.path ? -1 : 1))
        story.push(JSON.stringify(sorted).replaceAll(base, ''))
      }
      await note()
      for (const act of OPERATIONS) {
        act(at)
        await note()
      }
      return story
    }
    expect(await play(true)).toEqual(await play(false))
  })
})
