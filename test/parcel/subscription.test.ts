// The times at which a subscriber gets events, in comparison with @parcel/watcher: both watch the same
// operations.
import { AsyncLocalStorage } from 'node:async_hooks'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import parcel from '@parcel/watcher'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as bridge from '../../src/entries/parcel.ts'
import { scratch } from '../support/scratch.ts'
import { settled } from '../watch/saved/remembering.ts'

type Api = Pick<typeof bridge, 'subscribe' | 'unsubscribe'>

const APIS: ReadonlyArray<[name: string, api: Api]> = [
  ['ours', bridge],
  ['theirs', parcel],
]

/**
 * Makes a directory with `f` and `d/f` in another directory, and records a subscriber's events, call by call.
 */
async function followed(api: Api): Promise<{ root: string; calls: string[][]; all: () => string[] }> {
  const root = join(scratch(), 'root')
  fs.mkdirSync(join(root, 'd'), { recursive: true })
  for (const name of ['f', 'd/f']) fs.writeFileSync(join(root, name), 'text')
  await settled(root)
  const calls: string[][] = []
  const subscription = await api.subscribe(root, (error, events) => {
    calls.push(error ? [error.message] : events.map(({ type, path }) => `${type} ${path.slice(root.length)}`))
  })
  onTestFinished(() => subscription.unsubscribe())
  return { root, calls, all: () => calls.flat() }
}

describe.each(APIS)('%s', (name, api) => {
  test.each<[string, (root: string) => void, string[]]>([
    ['removed', (root) => fs.rmSync(root, { recursive: true }), ['delete /d', 'delete /d/f', 'delete /f']],
    [
      'removed from within, then itself',
      (root) => [fs.rmSync(join(root, 'f')), fs.rmSync(root, { recursive: true })],
      ['delete /d', 'delete /d/f', 'delete /f'],
    ],
    [
      'renamed',
      (root) => fs.renameSync(root, `${root} away`),
      name === 'ours' ? ['delete /d', 'delete /d/f', 'delete /f'] : [],
    ],
  ])('the directory itself is %s', async (_, act, below) => {
    const { root, all } = await followed(api)
    act(root)
    await expect
      .poll(() => all().filter((each) => /^\w+ (\/.+)?$/.test(each)).length, { timeout: 10_000 })
      .toBeGreaterThan(below.length)
    expect([...new Set(all())].sort()).toEqual(['delete ', ...below].sort())
  })

  test.each<[string, (file: string) => void]>([
    ['opened to be written, and closed', (file) => fs.closeSync(fs.openSync(file, 'r+'))],
    ['opened to be added to, and closed', (file) => fs.closeSync(fs.openSync(file, 'a'))],
    ['read', (file) => fs.readFileSync(file)],
  ])('a file that is %s has not changed', async (_, act) => {
    const { root, all } = await followed(api)
    for (const file of ['f', 'd/f']) act(join(root, file))
    fs.writeFileSync(join(root, 'last'), '')
    await expect.poll(all).toContain('create /last')
    expect(all().filter((each) => !each.endsWith('last'))).toEqual([])
  })

  test.each<[string, (file: string) => void]>([
    ['written', (file) => fs.writeFileSync(file, 'more')],
    ['written in two parts', (file) => [fs.appendFileSync(file, 'a'), fs.appendFileSync(file, 'b')]],
    ['given other times', (file) => fs.utimesSync(file, 7, 7)],
    ['truncated', (file) => fs.truncateSync(file, 1)],
  ])('a file that is %s has', async (_, act) => {
    const { root, all } = await followed(api)
    act(join(root, 'd/f'))
    await expect.poll(all).toContain('update /d/f')
  })

  test('twenty writes within 100 ms: the first at once, all others together', async () => {
    const { root, calls, all } = await followed(api)
    for (let i = 0; i < 20; i++) {
      fs.appendFileSync(join(root, 'f'), 'x')
      await sleep(5)
    }
    fs.writeFileSync(join(root, 'last'), '')
    await expect.poll(all).toContain('create /last')
    // A machine that has stopped for 50 ms meanwhile has had the quiet that is waited for.
    expect(calls.length).toBeLessThan(6)
  })

  test('what never rests is told all the same', async () => {
    const { root, calls } = await followed(api)
    const writing = setInterval(() => fs.appendFileSync(join(root, 'f'), 'x'), 10)
    try {
      await expect.poll(() => calls.length, { interval: 100 }).toBeGreaterThan(2)
    } finally {
      clearInterval(writing)
    }
  })

  test('what comes and goes meanwhile is not told', async () => {
    const { root, calls, all } = await followed(api)
    fs.writeFileSync(join(root, 'first'), '')
    await expect.poll(() => calls.length).toBe(1)
    fs.writeFileSync(join(root, 'passing'), '')
    fs.rmSync(join(root, 'passing'))
    fs.rmSync(join(root, 'f'))
    fs.writeFileSync(join(root, 'f'), 'anew')
    fs.writeFileSync(join(root, 'last'), '')
    await expect.poll(all).toContain('create /last')
    expect(
      all()
        .filter((each) => !/first/.test(each))
        .sort(),
    ).toEqual(['create /last', 'update /f'])
  })

  test.each(['at once', 'one after the other'])(
    'the same subscribe() twice %s is told once, and ended once',
    async (when) => {
      const root = scratch()
      const events: string[] = []
      const fn = (_: Error | null, all: bridge.Event[]) => void events.push(...all.map(({ path }) => path))
      const first = api.subscribe(root, fn)
      if (when !== 'at once') await first
      const [one, other] = await Promise.all([first, api.subscribe(root, fn)])
      fs.mkdirSync(join(root, 'a'))
      await expect.poll(() => events).toEqual([join(root, 'a')])
      await one.unsubscribe()
      fs.mkdirSync(join(root, 'b'))
      const last = await api.subscribe(root, (_, all) => void events.push(...all.map(() => 'another')))
      fs.mkdirSync(join(root, 'c'))
      await expect.poll(() => events).toContain('another')
      expect(events).toEqual([join(root, 'a'), ...events.filter((each) => each === 'another')])
      await Promise.all([other.unsubscribe(), last.unsubscribe()])
    },
  )

  test('subscribed and unsubscribed at once: both resolve, and nothing is told', async () => {
    const root = scratch()
    const events: unknown[] = []
    const fn = (error: Error | null, all: bridge.Event[]) => void events.push(error, ...all)
    const [subscription] = await Promise.all([api.subscribe(root, fn), api.unsubscribe(root, fn)])
    if (name === 'ours') {
      fs.mkdirSync(join(root, 'a'))
      const { root: other, all } = await followed(api)
      fs.writeFileSync(join(other, 'last'), '')
      await expect.poll(all).toContain('create /last')
      expect(events).toEqual([])
    }
    await subscription.unsubscribe()
  })

  test('it is told where it was subscribed, as of AsyncLocalStorage', async () => {
    const root = scratch()
    const storage = new AsyncLocalStorage<string>()
    const seen: string[] = []
    const subscriptions = await Promise.all(
      ['one', 'other'].map((id) =>
        storage.run(id, () => api.subscribe(root, () => void seen.push(`${id} in ${storage.getStore()}`))),
      ),
    )
    for (const name of ['a', 'b']) fs.mkdirSync(join(root, name))
    await expect.poll(() => [...new Set(seen)].sort()).toEqual(['one in one', 'other in other'])
    for (const each of subscriptions) await each.unsubscribe()
  })
})

test('ours: a directory that comes back is told, with all that is in it', async () => {
  const { root, all } = await followed(bridge)
  fs.renameSync(root, `${root} away`)
  await expect.poll(() => [...all()].sort()).toEqual(['delete ', 'delete /d', 'delete /d/f', 'delete /f'])
  fs.writeFileSync(`${root} away/new`, '')
  fs.renameSync(`${root} away`, root)
  await expect
    .poll(() => [...new Set(all().slice(4))].sort())
    .toEqual(['create ', 'create /d', 'create /d/f', 'create /f', 'create /new'])
  fs.rmSync(join(root, 'new'))
  await expect.poll(() => all().at(-1)).toBe('delete /new')
})

test('ours: another takes its place, and what is in that is told', async () => {
  const { root, all } = await followed(bridge)
  fs.mkdirSync(`${root}2`)
  fs.writeFileSync(`${root}2/new`, '')
  fs.renameSync(root, `${root}3`)
  fs.renameSync(`${root}2`, root)
  await expect.poll(all).toEqual(expect.arrayContaining(['delete /d/f', 'create /new']))
  expect(
    all()
      .filter((each) => / $/.test(each))
      .at(-1),
  ).not.toBe('delete ')
})

test('ours: one that could not be subscribed may be, later', async () => {
  const root = join(scratch(), 'root')
  const events: string[] = []
  const fn = (_: Error | null, all: bridge.Event[]) => void events.push(...all.map(({ type }) => type))
  const both = [bridge.subscribe(root, fn), bridge.subscribe(root, fn)]
  for (const each of both) await expect(each).rejects.toMatchObject({ code: 'ENOENT' })
  fs.mkdirSync(root)
  const subscription = await bridge.subscribe(root, fn)
  fs.mkdirSync(join(root, 'a'))
  await expect.poll(() => events).toEqual(['create'])
  await subscription.unsubscribe()
})

test('ours: the root of all directories', async () => {
  const own = scratch()
  const events: string[] = []
  // All but the way to one directory.
  const others = new RegExp(
    `^(?!${own
      .slice(1)
      .split('/')
      .reduceRight((inner, name) => `${name.replace(/[^\w-]/g, '\\$&')}(/${inner}|$)`, '.*')})`,
  )
  const subscription = await bridge.subscribe(
    '/',
    (_, all) => void events.push(...all.map(({ path }) => path)),
    {
      ignore: [others],
    },
  )
  fs.writeFileSync(join(own, 'f'), '')
  await expect.poll(() => events).toContain(join(own, 'f'))
  await subscription.unsubscribe()
})
