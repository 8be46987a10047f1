// next(): waits for one change, by its path and type.
import { mkdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { watch } from '../../src/watch/calls.ts'
import type { NextOptions } from '../../src/watch/report/next_change.ts'
import { scratch } from '../support/scratch.ts'
import { inWords, watching } from './support.ts'

describe.each(['inotify', 'poll'] as const)('%s', (backend) => {
  async function open() {
    const root = join(scratch(), 'root')
    const at = (name: string) => join(root, name)
    mkdirSync(at('d'), { recursive: true })
    writeFileSync(at('d/file'), '')
    const { watcher } = await watching(root, { backend, interval: 5, recursive: true })
    return { root, at, watcher }
  }

  test('resolves with the first change of the path, or the type, or any, from the call on', async () => {
    const { root, at, watcher } = await open()
    mkdirSync(at('before'))
    await watcher.sync()
    const waits = [
      watcher.next(),
      watcher.next({ path: at('b') }),
      watcher.next({ path: relative(process.cwd(), at('b')) }),
      watcher.next({ type: 'delete' }),
      watcher.next({ path: at('a'), type: 'delete' }),
    ]
    for (const name of ['a', 'b']) {
      mkdirSync(at(name))
      await watcher.sync()
    }
    for (const name of ['b', 'a']) {
      rmdirSync(at(name))
      await watcher.sync()
    }
    expect((await Promise.all(waits)).map((change) => inWords(change, root))).toEqual([
      'create directory a',
      'create directory b',
      'create directory b',
      'delete directory b',
      'delete directory a',
    ])
  })

  const DEEDS: ReadonlyArray<[told: string, path: string, act: (at: (name: string) => string) => void]> = [
    ['rename directory d e', 'd/file', (at) => renameSync(at('d'), at('e'))],
    ['rename directory d e', 'e/file', (at) => renameSync(at('d'), at('e'))],
    ['delete directory d', 'd/file', (at) => renameSync(at('d'), at('../elsewhere'))],
    ['lost .', 'd', (at) => renameSync(at('.'), at('../elsewhere'))],
  ]
  test.each(DEEDS)('%s is about %s', async (told, path, act) => {
    const { root, at, watcher } = await open()
    const change = watcher.next({ path: at(path) })
    act(at)
    await watcher.sync()
    expect(inWords(await change, root)).toBe(told)
  })

  test('the create of a directory, a change of what lies in it or of a neighbour is about no other path', async () => {
    const { root, at, watcher } = await open()
    const change = watcher.next({ path: at('d') })
    writeFileSync(at('d/file'), 'text')
    mkdirSync(at('d/new'))
    mkdirSync(at('dd'))
    renameSync(at('dd'), at('ddd'))
    await watcher.sync()
    renameSync(at('d'), at('e'))
    await watcher.sync()
    expect(inWords(await change, root)).toBe('rename directory d e')
  })
})

test('the type of a change tells its fields, and the encoding those of its paths', async () => {
  const root = scratch()
  const watcher = watch(root, { encoding: 'buffer' })
  onTestFinished(() => watcher.close())
  await watcher.ready
  writeFileSync(join(root, 'a'), '')
  const renamed = watcher.next({ path: join(root, 'a'), type: 'rename' })
  renameSync(join(root, 'a'), join(root, 'ä'))
  const { from, replaced } = await renamed
  expect([from.equals(Buffer.from(join(root, 'a'))), replaced]).toEqual([true, false])
})

describe('rejects', () => {
  test.each(['before', 'meanwhile'])('with the reason of its signal, which aborts %s', async (when) => {
    const { watcher } = await watching(scratch())
    const abort = new AbortController()
    if (when === 'before') abort.abort('enough')
    const change = watcher.next({ signal: abort.signal })
    abort.abort('enough')
    await expect(change).rejects.toBe('enough')
  })

  test('as sync() does when the watcher is closed, before or meanwhile', async () => {
    const { watcher } = await watching(scratch())
    const change = watcher.next()
    void watcher.close()
    const closed = { code: 'EBADF', message: await watcher.sync().catch(({ message }) => message) }
    await expect(change).rejects.toMatchObject(closed)
    await expect(watcher.next()).rejects.toMatchObject(closed)
  })

  test('with the reason why the watcher was not ready', async () => {
    const abort = new AbortController()
    const watcher = watch(scratch(), { signal: abort.signal })
    const change = watcher.next()
    abort.abort('enough')
    await expect(change).rejects.toBe('enough')
    await expect(watcher.next()).rejects.toBe('enough')
  })

  test.each<[object, string]>([
    [{ path: '' }, "options.path must be a string, not empty and without a NUL byte; got ''"],
    [{ type: 'unlink' }, 'options.type must be one of create, modify, attrib, delete, rename, exchange'],
    [{ signal: 5 }, 'options.signal must be an AbortSignal; got 5'],
    [{ timeout: 5 }, 'options.timeout is no option (here: signal: AbortSignal.timeout(ms))'],
    [{ paths: '/' }, 'options.paths is no option (did you mean path?)'],
  ])('%j with a TypeError', async (options, words) => {
    const { watcher } = await watching(scratch())
    await expect(watcher.next(options as NextOptions)).rejects.toMatchObject({
      name: 'TypeError',
      message: expect.stringContaining(words),
    })
  })
})
