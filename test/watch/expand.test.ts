// Option `expand`: the changes that a directory's change implies are told as well. The consumer has a plain
// map of paths without directories, and applies each change alone.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { inWords, RENAME_EXCHANGE, Replay, renameWith, watching } from './support.ts'

const exchange = (one: string, other: string) => renameWith(RENAME_EXCHANGE, one, other)

/** Makes d/, d/f, d/e/ and d/e/f for each name d. */
function plant(root: string, ...names: string[]): void {
  for (const name of names) {
    mkdirSync(join(root, name, 'e'), { recursive: true })
    writeFileSync(join(root, name, 'f'), '')
    writeFileSync(join(root, name, 'e/f'), '')
  }
}

describe.each(['inotify', 'poll'] as const)('by %s', (backend) => {
  async function expanded(root: string, options = {}) {
    const { watcher, told } = await watching(root, { backend, recursive: true, expand: true, ...options })
    const replay = new Replay()
    for (const { path, kind } of watcher.entries()) if (path !== root) replay.names.set(path, kind)
    /**
     * Returns the changes in words. Fails if a change does not fit, or if the result differs from the file
     * system.
     */
    const lines = async () => {
      const changes = await told()
      replay.apply(changes)
      const there = [...watcher.entries()].filter(({ path }) => path !== root)
      expect([...replay.names].sort()).toEqual(there.map(({ path, kind }) => [path, kind]).sort())
      return changes.map((change) => inWords(change, root))
    }
    return { watcher, lines }
  }

  test('a directory is renamed, taken away and removed', async () => {
    const root = scratch()
    const away = scratch()
    plant(root, 'd')
    const { lines } = await expanded(root)
    renameSync(join(root, 'd'), join(root, 'n'))
    const [first, ...below] = await lines()
    expect(first).toBe('rename directory d n')
    expect(below.sort()).toEqual([
      'rename directory d/e n/e',
      'rename file d/e/f n/e/f',
      'rename file d/f n/f',
    ])
    renameSync(join(root, 'n'), join(away, 'n'))
    const gone = await lines()
    expect(gone[0]).toBe('delete directory n')
    expect(gone.slice(1).sort()).toEqual(['delete directory n/e', 'delete file n/e/f', 'delete file n/f'])
    renameSync(join(away, 'n'), join(root, 'n'))
    expect(await lines()).toHaveLength(4)
    rmSync(join(root, 'n'), { recursive: true })
    expect((await lines()).sort()).toEqual([
      'delete directory n',
      'delete directory n/e',
      'delete file n/e/f',
      'delete file n/f',
    ])
  })

  test('two directories change places: what both have does, too, and the rest is renamed', async () => {
    const root = scratch()
    plant(root, 'a', 'b')
    writeFileSync(join(root, 'a/one'), '')
    writeFileSync(join(root, 'b/two'), '')
    writeFileSync(join(root, 'x'), '')
    const { lines } = await expanded(root)
    exchange(join(root, 'a'), join(root, 'b'))
    const [first, ...below] = await lines()
    expect(first).toBe('exchange directory a directory b')
    expect(below.sort()).toEqual([
      'exchange directory a/e directory b/e',
      'exchange file a/e/f file b/e/f',
      'exchange file a/f file b/f',
      'rename file a/one b/one',
      'rename file b/two a/two',
    ])
    exchange(join(root, 'a'), join(root, 'x'))
    const [swap, ...moved] = await lines()
    expect(swap).toBe('exchange file a directory x')
    expect(moved.sort()).toEqual([
      'rename directory a/e x/e',
      'rename file a/e/f x/e/f',
      'rename file a/f x/f',
      'rename file a/two x/two',
    ])
  })

  test('what is held back of a file goes with its directory', async () => {
    const root = scratch()
    plant(root, 'd')
    const { lines } = await expanded(root, { settle: 1_000_000 })
    writeFileSync(join(root, 'd/e/f'), 'more')
    renameSync(join(root, 'd'), join(root, 'n'))
    const told = await lines()
    expect(told).toContain('rename file d/e/f n/e/f')
    expect(told.at(-1)).toBe('modify file n/e/f')
  })
})

test('a circle of three directories, which a poll finds', async () => {
  const root = scratch()
  plant(root, 'a', 'b', 'c')
  for (const name of ['a', 'b', 'c']) writeFileSync(join(root, name, `only ${name}`), '')
  const { watcher, told } = await watching(root, {
    backend: 'poll',
    interval: 1_000_000,
    recursive: true,
    expand: true,
  })
  const replay = new Replay()
  for (const { path, kind } of watcher.entries()) if (path !== root) replay.names.set(path, kind)
  for (const [from, to] of [
    ['a', 't'],
    ['c', 'a'],
    ['b', 'c'],
    ['t', 'b'],
  ] as const)
    renameSync(join(root, from), join(root, to))
  const changes = await told()
  expect(changes.filter(({ type }) => type === 'exchange').length).toBeGreaterThan(2)
  replay.apply(changes)
  expect([...replay.names.keys()].sort()).toEqual(
    [...watcher.entries()]
      .map(({ path }) => path)
      .filter((path) => path !== root)
      .sort(),
  )
  expect([...replay.names.keys()]).toContain(join(root, 'b/only a'))
})

test('without it a directory speaks for what is in it', async () => {
  const root = scratch()
  plant(root, 'd')
  const { told } = await watching(root, { recursive: true })
  renameSync(join(root, 'd'), join(root, 'n'))
  expect((await told()).map((change) => inWords(change, root))).toEqual(['rename directory d n'])
})
