// Option `depth`. The simulation plays it in every order, with nested roots and followed links. This file
// tests the real file system and coverage().
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { watch } from '../../src/watch/calls.ts'
import { scratch } from '../support/scratch.ts'
import { inWords, watching } from './support.ts'

/** a/, a/f, a/b/, a/b/f, ... five levels deep. */
function chain(root: string): void {
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const [i] of names.entries()) {
    const directory = join(root, ...names.slice(0, i + 1))
    mkdirSync(directory)
    writeFileSync(join(directory, 'f'), '')
  }
}

const LEVELS = [
  ['a'],
  ['a/b', 'a/f'],
  ['a/b/c', 'a/b/f'],
  ['a/b/c/d', 'a/b/c/f'],
  ['a/b/c/d/e', 'a/b/c/d/f'],
  ['a/b/c/d/e/f'],
]

describe.each(['inotify', 'poll'] as const)('by %s', (backend) => {
  test.each([0, 1, 2, 3, 4, 5, 60, Number.POSITIVE_INFINITY])(
    '%d levels of directories are gone into',
    async (depth) => {
      const root = scratch()
      chain(root)
      const { watcher, told } = await watching(root, { backend, recursive: true, depth })
      const names = () => [...watcher.entries()].map(({ path }) => path.slice(root.length + 1)).sort()
      const visible = LEVELS.slice(0, depth + 1).flat()
      expect(names()).toEqual(['', ...visible].sort())
      for (const path of LEVELS.flat().filter((each) => each.endsWith('f')))
        writeFileSync(join(root, path), 'more')
      const written = (await told()).map((change) => inWords(change, root))
      expect([...new Set(written)].sort()).toEqual(
        visible
          .filter((path) => path.endsWith('f'))
          .map((path) => `modify file ${path}`)
          .sort(),
      )
    },
  )

  test('a directory that moves to another level brings what can be seen there, and leaves what cannot', async () => {
    const root = scratch()
    chain(root)
    const { told } = await watching(root, { backend, recursive: true, depth: 1 })
    const lines = async () => (await told()).map((change) => inWords(change, root)).sort()
    // The entries of the last level come into sight, and go out of sight.
    renameSync(join(root, 'a/b'), join(root, 'b'))
    expect(await lines()).toEqual(['create directory b/c', 'create file b/f', 'rename directory a/b b'])
    renameSync(join(root, 'b'), join(root, 'a/b'))
    expect(await lines()).toEqual(['delete directory a/b/c', 'delete file a/b/f', 'rename directory b a/b'])
    // A whole directory goes out of sight.
    mkdirSync(join(root, 'x'))
    writeFileSync(join(root, 'x/f'), '')
    await told()
    renameSync(join(root, 'x'), join(root, 'a/b/x'))
    expect(await lines()).toEqual(['delete directory x'])
    rmSync(join(root, 'a'), { recursive: true })
    expect(await lines()).toContain('delete directory a')
  })

  test('each root counts from itself, and what another shows is not told twice', async () => {
    const root = scratch()
    chain(root)
    const inner = join(root, 'a/b')
    const { watcher, told, changes } = await watching([root, inner], { backend, recursive: true, depth: 1 })
    expect(changes).toEqual([])
    const write = () => {
      for (const path of LEVELS.flat().filter((each) => each.endsWith('f')))
        writeFileSync(join(root, path), `${Math.random()}`)
    }
    const written = async () => [...new Set((await told()).map((change) => inWords(change, root)))].sort()
    write()
    expect(await written()).toEqual(['a/b/c/f', 'a/b/f', 'a/f'].map((path) => `modify file ${path}`))
    await watcher.remove(inner)
    // The entries that only the inner root covered are deleted.
    expect(await written()).toEqual(['delete directory a/b/c', 'delete file a/b/f'])
  })
})

test('what a followed link leads to is as deep as the link', async () => {
  const root = scratch()
  const away = scratch()
  chain(away)
  symlinkSync(away, join(root, 'link'))
  const { watcher } = await watching(root, { recursive: true, followSymlinks: true, depth: 2 })
  const names = [...watcher.entries()].map(({ path }) => path.slice(root.length + 1)).sort()
  expect(names).toEqual(['', 'link', 'link/a', 'link/a/b', 'link/a/f'])
})

test.each([
  [{ recursive: true, depth: -1 }, /options\.depth.* an integer, 0 or more/],
  [{ recursive: true, depth: 1.5 }, /options\.depth/],
  [{ recursive: true, depth: '1' as unknown as number }, /options\.depth/],
  [{ recursive: true, depth: Number.NaN }, /options\.depth/],
  [{ depth: 1 }, /options\.depth.*recursive/],
])('%o is a TypeError', (options, message) => {
  expect(() => watch('/', options)).toThrow(message)
})
