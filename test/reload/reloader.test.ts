import { once } from 'node:events'
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { InotifyError } from '../../src/errors.ts'
import { Inotify } from '../../src/inotify/inotify.ts'
import { ContentReader } from '../../src/reload/content_reader.ts'
import { reload } from '../../src/reload/reloader.ts'
import { Timers } from '../../src/reload/timers.ts'
import { openDescriptors, openInstances } from '../support/descriptors.ts'
import { scratch } from '../support/scratch.ts'
import { listen, PATIENCE, program, reloading } from './fixture.ts'

function file(text = 'one') {
  const directory = scratch()
  const path = join(directory, 'app.yaml')
  writeFileSync(path, text)
  return { directory, path }
}

test('a burst of 100 writes is one reload, when it is over', async () => {
  const { directory, path } = file()
  const content = join(scratch(), 'content')
  const delay = 400
  const { told } = await reloading({ paths: [directory], delay, action: { command: ['cp', path, content] } })
  for (let n = 1; n <= 100; n++) {
    writeFileSync(path, `version ${n}`)
    await new Promise(setImmediate)
  }
  const last = performance.now()
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
  expect(performance.now() - last, 'ms behind the last write').toBeGreaterThan(delay - 50)
  expect(told.reloads[0]?.changed).toEqual(['app.yaml'])
  expect(readFileSync(content, 'utf8'), 'what was there at that moment').toBe('version 100')
})

test('the same content is no reload, whatever was done to the file', async () => {
  const { path } = file()
  const { reloader, told } = await reloading({ paths: [path] })
  const looked = once(reloader, 'look')
  writeFileSync(path, 'two')
  writeFileSync(path, 'one')
  renameSync(path, `${path}~`)
  renameSync(`${path}~`, path)
  await looked
  await reloader.trigger()
  expect(told.events).toEqual([])
  writeFileSync(path, 'two')
  await reloader.trigger()
  expect(told.reloads).toEqual([{ changed: ['app.yaml'], digest: expect.stringMatching(/^[0-9a-f]{64}$/) }])
})

test('what is there at the start is in use; what is made right after `ready` is a change', async () => {
  const { path } = file()
  const { argv, runs } = program()
  const { told } = await reloading({ paths: [path], action: { command: [...argv, 'a b', '$(x)'] } })
  expect(runs()).toEqual([])
  writeFileSync(path, 'two')
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
  expect(runs()).toEqual(['a b $(x)'])
})

test('back to the last good content after a failed action: the action is done again', async () => {
  const { directory, path } = file()
  const { reloader, told } = await reloading({
    paths: [directory],
    action: { command: ['grep', '-q', 'one', path] },
  })
  writeFileSync(path, 'two')
  await expect.poll(() => told.failures, PATIENCE).toHaveLength(1)
  expect(told.failures[0]).toEqual({ stage: 'action', reason: "'grep': exit code 1", output: '' })
  expect(reloader.failing).toEqual(told.failures[0])
  writeFileSync(path, 'one')
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
  expect([told.reloads[0]?.changed, reloader.failing]).toEqual([['app.yaml'], undefined])
})

test('an action that fails is tried again on its own schedule, and is said each time', async () => {
  const { path } = file()
  const good = join(scratch(), 'good')
  const { told } = await reloading({ paths: [path], retry: 20, action: { command: ['cat', good] } })
  writeFileSync(path, 'two')
  await expect.poll(() => told.failures.length, PATIENCE).toBeGreaterThan(2)
  expect(told.failures[1]).toMatchObject({ stage: 'action', output: expect.stringContaining('No such file') })
  writeFileSync(good, '')
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
})

test('a ConfigMap: its keys are named, and nothing that lies behind them', async () => {
  const directory = scratch()
  await atomicWrite(directory, { 'app.yaml': 'one', 'sub/x': 'one', gone: 'one', same: 'one' })
  const { told } = await reloading({ paths: [directory] })
  await atomicWrite(directory, { 'app.yaml': 'two', 'sub/x': 'two', new: 'one', same: 'one' })
  // In two reloads where `delay` ends between the swap and the link of the new key, which comes behind it.
  const changed = () => told.reloads.flatMap((each) => each.changed).toSorted()
  await expect.poll(changed, PATIENCE).toEqual(['app.yaml', 'gone', 'new', 'sub/x'])
})

test('a link chain is followed wherever it is retargeted: of a key, of a path, of a file in a directory', async () => {
  const [config, elsewhere, enabled] = [scratch(), scratch(), scratch()]
  await atomicWrite(config, { key: 'one' })
  for (const name of ['1', '2']) writeFileSync(join(elsewhere, name), name)
  const link = (to: string, path: string) => {
    symlinkSync(to, `${path}.tmp`)
    renameSync(`${path}.tmp`, path)
  }
  link(join(elsewhere, '1'), join(elsewhere, 'middle'))
  link(join(elsewhere, 'middle'), join(enabled, 'site'))
  const paths = [join(config, 'key'), enabled]
  const { told } = await reloading({ paths })

  await atomicWrite(config, { key: 'two' })
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
  // Neither is in a directory that is one of the paths.
  link(join(elsewhere, '2'), join(elsewhere, 'middle'))
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(2)
  writeFileSync(join(elsewhere, '2'), 'two')
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(3)
  // By their whole paths where there are several.
  expect(told.reloads.map(({ changed }) => changed)).toEqual([
    [paths[0]],
    [join(enabled, 'site')],
    [join(enabled, 'site')],
  ])
})

test('a path that is not there: said once, and nothing is done until it is back with other content', async () => {
  const { directory, path } = file()
  const { reloader, told } = await reloading({ paths: [path] })
  rmSync(path)
  await expect.poll(() => told.errors, PATIENCE).toHaveLength(1)
  expect(told.errors[0]).toMatchObject({
    code: 'ENOENT',
    path,
    hint: expect.stringContaining('nothing is done until'),
  })
  await reloader.trigger()
  expect(told.events).toEqual(['error'])
  writeFileSync(path, 'one')
  await reloader.trigger()
  expect(told.events).toEqual(['error'])
  // It is said anew when it is missing anew.
  rmSync(directory, { recursive: true })
  await reloader.trigger()
  mkdirSync(directory)
  writeFileSync(path, 'two')
  await expect.poll(() => told.events, PATIENCE).toEqual(['error', 'error', 'reload'])
})

test('what is not there at the start is a change when it comes', async () => {
  const path = join(scratch(), 'later')
  const { told } = await reloading({ paths: [path] })
  expect(told.errors).toEqual([expect.objectContaining({ code: 'ENOENT', path })])
  writeFileSync(path, 'one')
  await expect.poll(() => told.reloads, PATIENCE).toMatchObject([{ changed: ['later'] }])
})

test("without a listener an 'error' is a warning, not the end", async () => {
  const path = join(scratch(), 'later')
  const warned = once(process, 'warning')
  await using reloader = reload({ paths: [path], action: { command: ['true'] } })
  await reloader.ready
  expect(await warned).toMatchObject([
    { code: 'INOTIFY_BRIDGE_RELOAD', message: expect.stringContaining(path) },
  ])
})

test('with inotify alone, and none to be had, there are still the looks of the interval', async () => {
  const { path } = file()
  vi.stubEnv('INOTIFY_BRIDGE_BACKEND', 'inotify')
  onTestFinished(() => void vi.unstubAllEnvs())
  const add = vi.spyOn(Inotify.prototype, 'add').mockImplementation(() => {
    throw new InotifyError({ errno: 'EMFILE', syscall: 'inotify_init1' })
  })
  onTestFinished(() => add.mockRestore())
  const { told } = await reloading({ paths: [path], interval: 30 })
  expect(told.errors).toMatchObject([{ code: 'EMFILE' }])
  writeFileSync(path, 'two')
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
  // It is tried again with each look.
  add.mockRestore()
  const instances = openInstances()
  await expect.poll(openInstances, PATIENCE).toBeGreaterThanOrEqual(instances)
  expect(told.errors).toHaveLength(1)
})

test('changes without an end are looked at in their midst, an interval after they began', async () => {
  const { path } = file()
  const { told } = await reloading({ paths: [path], delay: 5000, interval: 300 })
  let n = 0
  const writing = setInterval(() => writeFileSync(path, `${n++}`), 20)
  onTestFinished(() => clearInterval(writing))
  await expect.poll(() => told.reloads.length, PATIENCE).toBeGreaterThan(1)
})

test('close() is idempotent, gives everything back, and nothing is told after it', async () => {
  const { path } = file()
  // Opens first what stays open once loaded.
  await (await reloading({ paths: [path] })).reloader.close()
  const [descriptors, instances] = [openDescriptors(), openInstances()]
  const { reloader, told } = await reloading({ paths: [path], delay: 0 })
  writeFileSync(path, 'two')
  const triggered = reloader.trigger()
  const closing = reloader.close()
  expect(reloader.close()).toBe(closing)
  await closing
  await triggered.catch(() => {})
  expect(told.events).toEqual(['close'])
  await expect(reloader.trigger()).rejects.toMatchObject({ code: 'EBADF' })
  await expect.poll(openDescriptors, PATIENCE).toBe(descriptors)
  expect(openInstances()).toBe(instances)
})

test('closed before it is ready: EBADF', async () => {
  const { path } = file()
  const reloader = reload({ paths: [path], action: { command: ['true'] } })
  const told = listen(reloader)
  await reloader.close()
  await expect(reloader.ready).rejects.toMatchObject({ code: 'EBADF' })
  expect(told.events).toEqual(['close'])
})

test('ten at once, each of its own paths', async () => {
  const all = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const { path } = file()
      return { path, ...(await reloading({ paths: [path] })) }
    }),
  )
  for (const { path } of all) writeFileSync(path, 'two')
  for (const { told } of all) await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
})

test('a change that comes behind the first reading, before that is over, is one', async () => {
  const { path } = file()
  const { read } = ContentReader.prototype
  let ring = () => {}
  const rings = new Promise<void>((resolve) => {
    ring = resolve
  })
  const { changed } = Timers.prototype
  const spies = [
    vi.spyOn(ContentReader.prototype, 'read').mockImplementationOnce(async function (this: ContentReader) {
      const contents = await read.call(this)
      writeFileSync(path, 'two')
      await rings
      return contents
    }),
    vi.spyOn(Timers.prototype, 'changed').mockImplementation(function (this: Timers) {
      changed.call(this)
      // Behind the end of `delay`.
      setTimeout(ring, 20)
    }),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
  const { told } = await reloading({ paths: [path], delay: 1 })
  await expect.poll(() => told.reloads, PATIENCE).toHaveLength(1)
})

test('events that change nothing do not put off the next try, however many there are', async () => {
  const { path } = file()
  const { told } = await reloading({ paths: [path], delay: 1000, retry: 50, action: { command: ['false'] } })
  writeFileSync(path, 'two')
  await expect.poll(() => told.failures.length, PATIENCE).toBeGreaterThan(0)
  const touching = setInterval(() => utimesSync(path, new Date(), new Date()), 20)
  onTestFinished(() => clearInterval(touching))
  await expect.poll(() => told.failures.length, PATIENCE).toBeGreaterThan(3)
})

test('what is missing while something fails is asked for at the pace of `retry`', async () => {
  const { path } = file()
  const retry = 50
  const { reloader, told } = await reloading({ paths: [path], retry, action: { command: ['false'] } })
  writeFileSync(path, 'two')
  await expect.poll(() => told.failures.length, PATIENCE).toBeGreaterThan(0)
  rmSync(path)
  await expect.poll(() => told.errors.length, PATIENCE).toBe(1)
  const began = performance.now()
  for (let n = 0; n < 5; n++) await once(reloader, 'look')
  expect(performance.now() - began).toBeGreaterThan(3 * retry)
})

test('trigger() during an attempt that fails is another', async () => {
  const { path } = file()
  const flag = join(scratch(), 'flag')
  const { reloader, told } = await reloading({ paths: [path], action: { command: ['test', '-e', flag] } })
  let asked: Promise<void> | undefined
  reloader.once('child', () => {
    asked = reloader.trigger()
  })
  reloader.once('failed', () => writeFileSync(flag, ''))
  writeFileSync(path, 'two')
  await expect.poll(() => asked !== undefined, PATIENCE).toBe(true)
  await asked
  expect(told.events).toEqual(['failed', 'reload'])
})
