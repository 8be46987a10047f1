// The events of @parcel/watcher and of inotify-bridge/parcel for the same operations. Where they differ, both
// are named.
import {
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import parcel from '@parcel/watcher'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as bridge from '../../src/entries/parcel.ts'
import { scratch } from '../support/scratch.ts'
import { settled } from '../watch/saved/remembering.ts'

type Api = Pick<typeof bridge, 'subscribe' | 'unsubscribe' | 'writeSnapshot' | 'getEventsSince'>
type At = (name: string) => string

// The assignments check that programs typed for one package compile with the other.
const THEIRS: Api = parcel
const OURS: typeof parcel = bridge

const INOTIFY: bridge.Options = { backend: 'inotify' }

/**
 * Returns 'create /a', sorted. A file that is read in two parts is told twice: leaves out the second time.
 */
function words(events: readonly bridge.Event[], root: string): string[] {
  const isMade = new Set(events.filter(({ type }) => type === 'create').map(({ path }) => path))
  const told = events.filter(({ type, path }) => type !== 'update' || !isMade.has(path))
  return [...new Set(told.map(({ type, path }) => `${type} ${path.slice(root.length)}`))].sort()
}

async function tree(): Promise<{ root: string; at: At }> {
  const root = scratch()
  mkdirSync(join(root, 'd'))
  for (const name of ['a', 'b', 'd/c']) {
    writeFileSync(join(root, name), name)
    // All files have the same time: @parcel/watcher compares nothing else.
    utimesSync(join(root, name), 1000, 1000)
  }
  await settled(root)
  return { root, at: (name) => join(root, name) }
}

async function toldSince(api: Api, operate: (at: At) => void, opts = INOTIFY): Promise<string[]> {
  const { root, at } = await tree()
  const file = join(scratch(), 'snapshot')
  await api.writeSnapshot(root, file, opts)
  operate(at)
  return words(await api.getEventsSince(root, file, opts), root)
}

/** Returns the events up to `last`, which is made after the operations. */
async function toldTo(api: Api, operate: (at: At) => void, opts = INOTIFY): Promise<string[]> {
  const { root, at } = await tree()
  const events: bridge.Event[] = []
  const subscription = await api.subscribe(
    root,
    (error, batch) => {
      expect(error).toBeNull()
      events.push(...batch)
    },
    opts,
  )
  operate(at)
  writeFileSync(at('last'), '')
  await expect.poll(() => events.map(({ path }) => path)).toContain(at('last'))
  await subscription.unsubscribe()
  return words(events, root).filter((each) => !each.endsWith(' /last'))
}

const ALIKE: Array<[string, (at: At) => void, string[]]> = [
  ['a file is made', (at) => writeFileSync(at('new'), ''), ['create /new']],
  ['written', (at) => writeFileSync(at('a'), 'longer'), ['update /a']],
  ['truncated', (at) => truncateSync(at('a')), ['update /a']],
  ['removed', (at) => rmSync(at('a')), ['delete /a']],
  ['renamed', (at) => renameSync(at('a'), at('z')), ['create /z', 'delete /a']],
  ['moved', (at) => renameSync(at('a'), at('d/a')), ['create /d/a', 'delete /a']],
  ['a directory is made', (at) => mkdirSync(at('n')), ['create /n']],
  ['a directory is removed', (at) => rmSync(at('d'), { recursive: true }), ['delete /d', 'delete /d/c']],
  ['a link is made', (at) => symlinkSync('a', at('link')), ['create /link']],
]

describe.each(ALIKE)('%s', (_, operate, expected) => {
  test('since a snapshot', async () => {
    expect(await toldSince(OURS, operate)).toEqual(expected)
    expect(await toldSince(THEIRS, operate)).toEqual(expected)
  })

  test('to a subscriber', async () => {
    expect(await toldTo(OURS, operate)).toEqual(expected)
    expect(await toldTo(THEIRS, operate)).toEqual(expected)
  })
})

test('since a snapshot, a file that replaced another, or has another mode, is an update: theirs does not tell', async () => {
  const replace = (at: At) => renameSync(at('a'), at('b'))
  expect(await toldSince(OURS, replace)).toEqual(['delete /a', 'update /b'])
  expect(await toldSince(THEIRS, replace)).toEqual(['delete /a'])
  const change = (at: At) => chmodSync(at('a'), 0o600)
  expect(await toldSince(OURS, change)).toEqual(['update /a'])
  expect(await toldSince(THEIRS, change)).toEqual([])
})

test('where there is no directory, all of them reject, as theirs do', async () => {
  const { at } = await tree()
  for (const [name, code] of [
    ['none', 'ENOENT'],
    ['a', 'ENOTDIR'],
  ] as const) {
    const fn = () => {}
    await expect(bridge.subscribe(at(name), fn)).rejects.toMatchObject({ code })
    await expect(bridge.writeSnapshot(at(name), at('snapshot'))).rejects.toMatchObject({ code })
    await expect(bridge.getEventsSince(at(name), at('snapshot'))).rejects.toMatchObject({ code })
    await expect(parcel.writeSnapshot(at(name), at('snapshot'), INOTIFY)).rejects.toThrow()
    await bridge.unsubscribe(at(name), fn)
  }
})

test('of a directory that is renamed, all below it is told: by theirs not to a subscriber', async () => {
  const rename = (at: At) => renameSync(at('d'), at('e'))
  const all = ['create /e', 'create /e/c', 'delete /d', 'delete /d/c']
  expect(await toldSince(OURS, rename)).toEqual(all)
  expect(await toldSince(THEIRS, rename)).toEqual(all)
  expect(await toldTo(OURS, rename)).toEqual(all)
  expect(await toldTo(THEIRS, rename)).toEqual(['create /e', 'delete /d'])
})

test('what is ignored: paths, patterns and regular expressions', async () => {
  const operate = (at: At) => {
    for (const name of ['x.log', 'y.txt', 'd/z.log', 'd/y.txt', 'some.tmp']) writeFileSync(at(name), '')
    mkdirSync(at('n/m'), { recursive: true })
    writeFileSync(at('n/m/o'), '')
  }
  const opts: bridge.Options = { ignore: ['n', '**/*.log', /\.tmp$/], backend: 'inotify' }
  const expected = ['create /d/y.txt', 'create /y.txt']
  for (const api of [OURS, THEIRS]) {
    expect(await toldSince(api, operate, opts)).toEqual(expected)
    expect(await toldTo(api, operate, opts)).toEqual(expected)
  }
})

describe('ours', () => {
  test('unsubscribe(): by the arguments of subscribe()', async () => {
    const { root, at } = await tree()
    const events: bridge.Event[] = []
    const take = (_: Error | null, batch: bridge.Event[]) => void events.push(...batch)
    const others: bridge.Event[] = []
    await bridge.subscribe(root, take)
    const other = await bridge.subscribe(root, (_, batch) => void others.push(...batch))
    onTestFinished(() => other.unsubscribe())
    await bridge.unsubscribe(root, take)
    await bridge.unsubscribe(root, take)
    writeFileSync(at('new'), '')
    await expect.poll(() => words(others, root)).toEqual(['create /new'])
    expect(events).toEqual([])
  })

  test('errors reject', async () => {
    const { root, at } = await tree()
    const file = join(scratch(), 'snapshot')
    await expect(bridge.getEventsSince(root, file)).rejects.toMatchObject({ code: 'ENOENT', path: file })
    await expect(bridge.writeSnapshot(root, join(at('a'), 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' })
    expect(await bridge.writeSnapshot(root, file)).toBe(file)
    truncateSync(file, 40)
    await expect(bridge.getEventsSince(root, file)).rejects.toMatchObject({ code: 'EBADMSG' })
    unlinkSync(file)
  })
})
