import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { IN_ATTRIB, IN_CREATE, IN_DELETE, IN_MODIFY, IN_MOVE } from '../../src/inotify/constants.ts'
import { Inotify } from '../../src/inotify/inotify.ts'
import { formatMask } from '../../src/inotify/mask.ts'
import { eventsSoFar } from '../support/events.ts'
import { rounds } from '../support/long.ts'
import { fixture } from './fixture.ts'
import { shownIn } from './names.ts'

test('the layout is mirrored as it is, and quiet passes change nothing', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { 'app.yaml': 'one', 'nested/deep.yaml': 'two' })
  const mirror = await start()
  expect(await shownIn(target)).toEqual(await shownIn(source))
  expect(await readlink(join(target, '..data'))).toBe(await readlink(join(source, '..data')))
  expect(await readlink(join(target, 'app.yaml'))).toBe('..data/app.yaml')
  expect(await readFile(join(target, 'nested/deep.yaml'), 'utf8')).toBe('two')
  mirror.on('update', () => expect.unreachable('nothing has changed'))
  await mirror.refresh()
})

test('a swap adds, changes and removes keys; updates name keys', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: 'old', b: 'stays', c: 'goes' })
  const mirror = await start()
  const updates: unknown[] = []
  mirror.on('update', ({ changed }) => updates.push(changed))
  await atomicWrite(source, { a: 'new', b: 'stays', d: 'comes' })
  await mirror.refresh()
  expect(await shownIn(target)).toEqual(await shownIn(source))
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('new')
  expect(await readFile(join(target, 'd'), 'utf8')).toBe('comes')
  expect(updates).toEqual([['a', 'c', 'd']])
})

test('the timer finds a swap by itself', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: 'old' })
  const mirror = await start({ interval: 10 })
  const updated = once(mirror, 'update')
  await atomicWrite(source, { a: 'new' })
  await updated
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('new')
})

test('what a watcher of the target sees of a swap: one MOVED_TO ..data, and no key that stays', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: '1', b: '1' })
  const mirror = await start()
  const old = await readlink(join(source, '..data'))
  using inotify = new Inotify()
  inotify.add(target, IN_CREATE | IN_DELETE | IN_MOVE | IN_ATTRIB | IN_MODIFY)
  await atomicWrite(source, { a: '2', c: '1' })
  await mirror.refresh()
  await mirror.refresh()
  const events = await eventsSoFar(inotify, target)
  expect(events.map(({ mask, name }) => `${formatMask(mask)} ${name}`)).toEqual([
    `IN_MOVED_TO|IN_ISDIR ${await readlink(join(source, '..data'))}`,
    'IN_CREATE ..data_tmp',
    'IN_MOVED_FROM ..data_tmp',
    'IN_MOVED_TO ..data',
    'IN_MOVED_TO c',
    'IN_DELETE b',
    `IN_DELETE|IN_ISDIR ${old}`,
  ])
})

test('a generation edited in place or made anew under its name is published beside the old one', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: 'old', b: 'same' })
  const mirror = await start()
  const data = await readlink(join(source, '..data'))
  await writeFile(join(source, data, 'a'), 'new')
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('new')
  expect(await readlink(join(target, '..data'))).toBe(`${data}.~1`)

  await mkdir(join(source, 'next'))
  await writeFile(join(source, 'next/a'), 'anew')
  await rm(join(source, data), { recursive: true })
  await rename(join(source, 'next'), join(source, data))
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('anew')
  expect(await shownIn(target)).toEqual(['..data', data, 'a', 'b'].sort())
})

test('a ..data that leads nowhere yet leaves the last good version', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: 'good' })
  const mirror = await start()
  const data = await readlink(join(source, '..data'))
  await rename(join(source, data), join(source, '..away'))
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('good')
  await appendFile(join(source, '..away/a'), ' again')
  await rename(join(source, '..away'), join(source, data))
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('good again')
})

test('generations other than the one that ..data names do not count towards the limits', async () => {
  const { source, start } = fixture()
  await atomicWrite(source, { a: '1', b: '2' })
  await mkdir(join(source, '..2020_01_01_00_00_00.1'))
  await writeFile(join(source, '..2020_01_01_00_00_00.1/a'), '3')
  const mirror = await start({ limits: { files: 2, bytes: 2 } })
  expect(mirror.state).toBe('mirroring')
  expect(mirror.skipped).toEqual([])
})

test('over the limit keys lead over ..data into the source, and back', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: '1' })
  const mirror = await start({ limits: { files: 1, bytes: 100 } })
  await atomicWrite(source, { a: '2', b: '2' })
  await mirror.refresh()
  expect(await shownIn(target)).toEqual(await shownIn(source))
  expect(await readlink(join(target, '..data/b'))).toBe(join(source, '..data/b'))
  expect(await readFile(join(target, 'b'), 'utf8')).toBe('2')
  await atomicWrite(source, { a: '2', b: 'flows' })
  expect(await readFile(join(target, 'b'), 'utf8'), 'before any pass').toBe('flows')
  await atomicWrite(source, { a: '3' })
  await mirror.refresh()
  expect(await shownIn(target)).toEqual(await shownIn(source))
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('3')
})

const SWAPS = rounds(process.env.SWAPS, { quick: 30, long: 100 })

test(`a tight reader sees every key whole in each of ${SWAPS} swaps`, async () => {
  const { source, target, start } = fixture()
  const version = (n: number) => ({ key: String.fromCharCode(65 + (n % 50)).repeat(65_536) })
  await atomicWrite(source, version(0))
  const mirror = await start()
  const reader = spawn(process.execPath, [join(import.meta.dirname, 'reader.mjs'), join(target, 'key')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(reader.stdout, 'data')
  for (let n = 1; n <= SWAPS; n++) {
    await atomicWrite(source, version(n))
    await mirror.refresh()
  }
  const { reads, missing, torn, versions } = await finish(reader)
  expect({ missing, torn }).toEqual({ missing: 0, torn: 0 })
  expect(reads).toBeGreaterThan(100)
  expect(versions).toBeGreaterThan(5)
})

test('swaps faster than passes: the last one arrives, and nothing mixed before', async () => {
  const { source, target, start } = fixture()
  const version = (n: number) => ({ a: String(n), b: String(n) })
  await atomicWrite(source, version(0))
  const mirror = await start({ interval: 1 })
  mirror.on('update', () => updates++)
  let updates = 0
  for (let n = 1; n <= 200; n++) await atomicWrite(source, version(n))
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('200')
  expect(await readFile(join(target, 'b'), 'utf8')).toBe('200')
  expect(updates).toBeGreaterThan(0)
})

async function finish(
  reader: ChildProcess & { stdin: NodeJS.WritableStream; stdout: NodeJS.ReadableStream },
) {
  reader.stdin.end()
  const report: { reads: number; missing: number; torn: number; versions: number } = JSON.parse(
    await text(reader.stdout),
  )
  return report
}
