// entries() and has(): they must equal a listing with each change applied. The simulation compares them with
// the changes in each step of every schedule.
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { watch } from '../../src/watch/calls.ts'
import { Directory } from '../../src/watch/tree/directory.ts'
import { scratch } from '../support/scratch.ts'
import { watching } from './support.ts'

/** Returns 'file a', 'directory b', relative to a directory, sorted. */
function words(entries: Iterable<{ path: string; kind: string }>, base: string): string[] {
  return [...entries].map(({ path, kind }) => `${kind} ${path.slice(base.length) || '/'}`).sort()
}

function tree(): string {
  const root = scratch()
  mkdirSync(join(root, 'd/e'), { recursive: true })
  for (const name of ['a', 'd/b', 'd/e/c']) writeFileSync(join(root, name), '')
  symlinkSync('a', join(root, 'link'))
  return root
}

describe.each(['inotify', 'poll'] as const)('by %s', (backend) => {
  test('entries() has what is there, parents first, and follows what is told', async () => {
    const root = tree()
    const { watcher, told } = await watching(root, { recursive: true, backend })
    const paths = [...watcher.entries()].map(({ path }) => path)
    expect(words(watcher.entries(), root)).toEqual([
      'directory /',
      'directory /d',
      'directory /d/e',
      'file /a',
      'file /d/b',
      'file /d/e/c',
      'symlink /link',
    ])
    expect(
      paths.every((path) => path === root || paths.indexOf(join(path, '..')) < paths.indexOf(path)),
    ).toBe(true)
    renameSync(join(root, 'd'), join(root, 'f'))
    rmSync(join(root, 'link'))
    writeFileSync(join(root, 'f/e/new'), '')
    await told()
    expect(words(watcher.entries(), root)).toEqual([
      'directory /',
      'directory /f',
      'directory /f/e',
      'file /a',
      'file /f/b',
      'file /f/e/c',
      'file /f/e/new',
    ])
    expect(words(watcher.entries(join(root, 'f/e')), root)).toEqual([
      'directory /f/e',
      'file /f/e/c',
      'file /f/e/new',
    ])
    expect(words(watcher.entries(join(root, 'a')), root)).toEqual(['file /a'])
    expect([...watcher.entries(join(root, 'd'))]).toEqual([])
  })

  test.each([
    [['d/e', 'd', ''], false],
    [['d/e', '', 'd'], false],
    [['d/e/c', 'd', 'd/e', ''], false],
    [['d/e', ''], true],
    [['d/e/c', 'd/b', 'd'], true],
  ])(
    'a directory comes before what is in it, in whatever order the roots were given: %j, recursive: %s',
    async (names, recursive) => {
      const root = tree()
      const { watcher } = await watching(
        names.map((name) => join(root, name)),
        { recursive, backend },
      )
      const paths = [...watcher.entries()].map(({ path }) => path)
      for (const [i, path] of paths.entries()) expect(paths.indexOf(join(path, '..'))).toBeLessThan(i)
      expect(new Set(paths).size).toBe(paths.length)
    },
  )

  test('has() says whether a path is among them, of whatever root', async () => {
    const [one, two] = [tree(), tree()]
    const file = join(two, 'd/b')
    const { watcher, told } = await watching([one, file], { backend })
    const has = (...paths: string[]) => paths.map((path) => watcher.has(path))
    expect(has(one, join(one, 'd'), join(one, 'd/../a'), file)).toEqual([true, true, true, true])
    // The paths lie below a root that is not recursive, outside all roots, or below a file.
    expect(has(join(one, 'd/b'), two, join(two, 'd'), join(one, 'a/x'), '/')).toEqual(Array(5).fill(false))
    rmSync(file)
    rmSync(join(one, 'a'))
    await told()
    expect(has(file, join(one, 'a'))).toEqual([false, false])
    expect(words(watcher.entries(), one)).toEqual(['directory /', 'directory /d', 'symlink /link'])
  })

  test('nothing is said of a root while it is lost', async () => {
    const root = tree()
    const { watcher, told } = await watching(root, { recursive: true, backend })
    renameSync(root, `${root}-away`)
    onTestFinished(() => rmSync(`${root}-away`, { recursive: true }))
    await told()
    expect([[...watcher.entries()], watcher.has(root), watcher.has(join(root, 'a'))]).toEqual([
      [],
      false,
      false,
    ])
    mkdirSync(root)
    writeFileSync(join(root, 'd'), '')
    await told()
    expect(words(watcher.entries(), root)).toEqual(['directory /', 'file /d'])
  })
})

test('each path is there once, however many roots have it', async () => {
  const root = tree()
  symlinkSync('d', join(root, 'to d'))
  const roots = [
    root,
    join(root, 'd'),
    join(root, 'a'),
    join(root, 'link'),
    join(root, 'to d'),
    join(root, 'd/e/c'),
  ]
  const { watcher } = await watching(roots, { recursive: true })
  expect(words(watcher.entries(), root)).toEqual([
    'directory /',
    'directory /d',
    'directory /d/e',
    'directory /to d/e',
    'file /a',
    'file /d/b',
    'file /d/e/c',
    'file /to d/b',
    'file /to d/e/c',
    'symlink /link',
    'symlink /to d',
  ])
  await watcher.remove(root)
  expect(words(watcher.entries(), root)).toEqual([
    'directory /d',
    'directory /d/e',
    'directory /to d',
    'directory /to d/e',
    'file /a',
    'file /d/b',
    'file /d/e/c',
    'file /link',
    'file /to d/b',
    'file /to d/e/c',
  ])
})

test('paths are in the encoding that was asked for', async () => {
  const root = scratch()
  const name = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff])])
  writeFileSync(name, '')
  writeFileSync(join(root, 'ä'), '')
  const watcher = watch(root, { encoding: 'buffer' })
  onTestFinished(() => watcher.close())
  await watcher.ready
  const paths = [...watcher.entries()].map(({ path }) => path.toString('latin1')).sort()
  expect(paths).toEqual(
    [Buffer.from(root), name, Buffer.from(`${root}/ä`)].map((each) => each.toString('latin1')).sort(),
  )
  expect(watcher.has(join(root, 'ä'))).toBe(true)
  const { watcher: other } = await watching(root)
  expect(words(other.entries(), root)).toEqual(['directory /', 'file /ä', 'file /\ufffd'])
})

test('who stops while taking entries goes on where he was: without what has gone', async () => {
  const root = tree()
  const { watcher, told } = await watching(root, { recursive: true })
  const entries = watcher.entries()[Symbol.iterator]()
  const first = [entries.next().value, entries.next().value].map(({ path }) => path)
  rmSync(join(root, 'd'), { recursive: true })
  await told()
  const rest = [...{ [Symbol.iterator]: () => entries }].map(({ path }) => path)
  expect(first[0]).toBe(root)
  expect(rest.filter((path) => path.startsWith(join(root, 'd/')))).toEqual([])
  expect([...first, ...rest]).toContain(join(root, 'link'))
})

test('before ready and after close() there is nothing; a path that is none is a TypeError', async () => {
  const root = tree()
  const watcher = watch(root, { recursive: true })
  expect([[...watcher.entries()], watcher.has(root)]).toEqual([[], false])
  await watcher.ready
  for (const wrong of ['', 'a\0b', 7 as unknown as string]) {
    expect(() => watcher.has(wrong)).toThrow(TypeError)
    expect(() => watcher.entries(wrong)).toThrow(/path/)
  }
  const open = watcher.entries()[Symbol.iterator]()
  expect(open.next().value).toEqual({ path: root, kind: 'directory' })
  await watcher.close()
  expect([open.next().done, [...watcher.entries()], watcher.has(root)]).toEqual([true, [], false])
})

test('what has() is asked of is unpacked once for all that is asked, and packed again though nothing happens', async () => {
  const root = scratch()
  const directories = ['one', 'two', 'three'].map((name) => join(root, name))
  for (const directory of directories) {
    mkdirSync(directory)
    for (let i = 0; i < 50; i++) writeFileSync(join(directory, `${i}`), '')
  }
  const { watcher } = await watching(root, { backend: 'inotify', recursive: true }, { entryCacheSize: 20 })
  const packed = vi.spyOn(Directory.prototype, 'compact')
  const peeked = vi.spyOn(Directory.prototype, 'peek')
  onTestFinished(() => {
    packed.mockRestore()
    peeked.mockRestore()
  })
  for (const directory of directories)
    for (let i = 0; i < 50; i++) expect(watcher.has(join(directory, `${i}`))).toBe(true)
  // Packing needs neither sync() nor an event.
  await expect.poll(() => packed.mock.calls.length).toBeGreaterThan(0)
  expect(peeked).not.toHaveBeenCalled()
  expect([...watcher.entries()]).toHaveLength(154)
})
