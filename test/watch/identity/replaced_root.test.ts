// A root whose place another directory takes: entries of the same name are compared.
import { chmodSync, chownSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { story, watching } from '../support.ts'

const DIRECTORIES = ['a', 'a/b', 'a/b/c', 'empty', 'other']

function made(path: string, modes: Record<string, number> = {}): string {
  for (const name of DIRECTORIES) mkdirSync(join(path, name), { recursive: true })
  writeFileSync(join(path, 'a/b/f'), '')
  for (const name of DIRECTORIES) chmodSync(join(path, name), modes[name] ?? 0o755)
  return path
}

describe.each(['inotify', 'poll'] as const)('by %s', (backend) => {
  test.each([
    ['nothing', {}, [], []],
    ['modes', { a: 0o700, 'a/b/c': 0o711, empty: 0o1755 }, [], ['a', 'a/b/c', 'empty']],
    ['what has come', { new: 0o700 }, ['new'], []],
    ['one of a directory that was told to be another', { a: 0o700 }, [], ['a']],
  ])('what is another is told, and nothing else: %s', async (what, modes, news, altered) => {
    const base = scratch()
    const root = made(join(base, 'root'))
    const next = made(join(base, 'next'), modes)
    for (const name of news) mkdirSync(join(next, name))
    const { told } = await watching(root, { recursive: true, backend, interval: 1_000_000 })
    if (what.startsWith('one of')) {
      chmodSync(join(root, 'a'), 0o711)
      expect(story(await told(), root)).toEqual(['attrib directory a'])
    }
    renameSync(root, join(base, 'was'))
    renameSync(next, root)
    const changes = story(await told(), root).filter((each) => / directory /.test(each))
    const expected = [
      ...news.map((name) => `create directory ${name}`),
      ...altered.map((name) => `attrib directory ${name}`),
    ]
    expect(changes.sort()).toEqual(expected.sort())
  })

  test.skipIf(process.getuid?.() !== 0)('and whose it is (needs root)', async () => {
    const base = scratch()
    const root = made(join(base, 'root'))
    const { told } = await watching(root, { recursive: true, backend, interval: 1_000_000 })
    const next = made(join(base, 'next'))
    chownSync(join(next, 'a/b'), 1, 0)
    chownSync(join(next, 'empty'), 0, 1)
    renameSync(root, join(base, 'was'))
    renameSync(next, root)
    const changes = story(await told(), root).filter((each) => each.startsWith('attrib'))
    expect(changes.sort()).toEqual(['attrib directory a/b', 'attrib directory empty'])
  })
})
