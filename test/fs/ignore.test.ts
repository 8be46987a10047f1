// Option `ignore` of inotify-bridge/fs.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import * as bridge from '../../src/entries/fs.ts'
import { scratch } from '../support/scratch.ts'

const END = 'the end'

/** Returns the names that are told in a directory, and in directories below. */
async function told(ignore: bridge.FSWatchIgnore, recursive: boolean, ...names: string[]): Promise<string[]> {
  const directory = scratch()
  fs.mkdirSync(join(directory, 'sub/deep'), { recursive: true })
  const seen = new Set<string>()
  const watcher = bridge.watch(directory, { recursive, ignore }, (_, name) => seen.add(String(name)))
  onTestFinished(() => watcher.close())
  await expect
    .poll(() => {
      fs.writeFileSync(join(directory, recursive ? 'sub/deep/ready' : 'ready'), `${Math.random()}`)
      return seen.has(recursive ? 'sub/deep/ready' : 'ready')
    })
    .toBe(true)
  for (const name of [...names, END]) fs.writeFileSync(join(directory, name), '')
  await expect.poll(() => seen.has(END)).toBe(true)
  // Another instance tells the changes below.
  fs.writeFileSync(join(directory, recursive ? 'sub/deep/over' : 'over'), '')
  await expect.poll(() => seen.has(recursive ? 'sub/deep/over' : 'over')).toBe(true)
  return names.filter((name) => seen.has(name))
}

test.each<[bridge.FSWatchIgnore, string[]]>([
  ['*.log', ['b.txt']],
  [/^a/, ['b.txt', 'b.log']],
  [(name) => name.startsWith('b'), ['a.log']],
  [['*.txt', /^a/], ['b.log']],
])('%o', async (ignore, expected) => {
  expect((await told(ignore, false, 'a.log', 'b.txt', 'b.log')).sort()).toEqual(expected.sort())
})

test.each<[bridge.FSWatchIgnore, string[]]>([
  ['*.log', ['sub/b.txt']],
  [/deep.a/, ['b.log', 'sub/b.txt']],
])('recursive: %o', async (ignore, expected) => {
  expect((await told(ignore, true, 'b.log', 'sub/b.txt', 'sub/deep/a.log')).sort()).toEqual(expected.sort())
})

test('what it is not is a TypeError', () => {
  for (const [wrong, code] of [
    [7, 'ERR_INVALID_ARG_TYPE'],
    [[/x/, {}], 'ERR_INVALID_ARG_TYPE'],
    ['', 'ERR_INVALID_ARG_VALUE'],
  ] as const)
    expect(() => bridge.watch('/', { ignore: wrong as unknown as string })).toThrow(
      expect.objectContaining({
        name: 'TypeError',
        code,
        message: expect.stringContaining('options.ignore'),
      }),
    )
})
