import { spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, renameSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  type EventBatch,
  formatMask,
  IN_ALL_EVENTS,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_DELETE_SELF,
  IN_IGNORED,
  IN_ISDIR,
  IN_MASK_CREATE,
  IN_MODIFY,
  IN_MOVE,
  IN_MOVED_FROM,
  IN_MOVED_TO,
  IN_OPEN,
  Inotify,
  type InotifyOptions,
} from '../../src/index.ts'
import { openInstances } from '../support/descriptors.ts'
import { eventsSoFar, eventsUntil } from '../support/events.ts'
import { scratch } from '../support/scratch.ts'

function open(options?: InotifyOptions): Inotify {
  const inotify = new Inotify(options)
  onTestFinished(() => inotify.close())
  return inotify
}

function thrownBy(call: () => unknown): Record<string, unknown> {
  try {
    call()
  } catch (error) {
    return error as Record<string, unknown>
  }
  throw new Error('nothing was thrown')
}

test('raw masks, names and order, as the kernel has them', async () => {
  const directory = scratch()
  const inotify = open()
  const wd = inotify.add(directory, IN_ALL_EVENTS)
  writeFileSync(join(directory, 'größe'), 'x')
  mkdirSync(join(directory, 'd'))
  rmdirSync(join(directory, 'd'))
  const events = await eventsSoFar(inotify, directory)
  expect(events).toEqual([
    { wd, mask: IN_CREATE, cookie: 0, name: 'größe' },
    { wd, mask: IN_OPEN, cookie: 0, name: 'größe' },
    { wd, mask: IN_MODIFY, cookie: 0, name: 'größe' },
    { wd, mask: IN_CLOSE_WRITE, cookie: 0, name: 'größe' },
    { wd, mask: IN_CREATE | IN_ISDIR, cookie: 0, name: 'd' },
    { wd, mask: IN_DELETE | IN_ISDIR, cookie: 0, name: 'd' },
  ])
})

test('a rename has one cookie for its two halves, also across directories', async () => {
  const [a, b] = [scratch(), scratch()]
  const inotify = open()
  const [from, to] = [inotify.add(a, IN_MOVE), inotify.add(b, IN_MOVE | IN_CREATE)]
  writeFileSync(join(a, 'x'), '')
  renameSync(join(a, 'x'), join(b, 'y'))
  const [left, came] = await eventsSoFar(inotify, b)
  expect(left).toMatchObject({ wd: from, mask: IN_MOVED_FROM, name: 'x' })
  expect(came).toMatchObject({ wd: to, mask: IN_MOVED_TO, name: 'y' })
  expect(came?.cookie).toBe(left?.cookie)
  expect(left?.cookie).not.toBe(0)
})

test('a path may be a Buffer, and a name may be no UTF-8', async () => {
  const parent = Buffer.from(`${scratch()}/`)
  const directory = Buffer.concat([parent, Buffer.from([0xff, 0x64])])
  mkdirSync(directory)
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  const name = Buffer.from([0x66, 0xfe, 0x0a, 0x1b])
  writeFileSync(Buffer.concat([directory, Buffer.from('/'), name]), '')
  const [batch] = (await once(inotify, 'events')) as [EventBatch]
  expect(batch.nameBytes(0)).toEqual(name)
})

test("an event is told once where emit() is a subclass's own, which answers nothing", async () => {
  class Traced extends Inotify {
    override emit = ((event: 'events', batch: EventBatch) => {
      EventEmitter.prototype.emit.call(this, event, batch)
    }) as unknown as Inotify['emit']
  }
  const directory = scratch()
  const inotify = new Traced()
  inotify.add(directory, IN_CREATE)
  const names: string[] = []
  inotify.on('events', (batch) => names.push(batch.name(0)))
  for (const name of ['a', 'b']) {
    writeFileSync(join(directory, name), '')
    await expect.poll(() => names.at(-1)).toBe(name)
  }
  await new Promise(setImmediate)
  inotify.close()
  expect(names).toEqual(['a', 'b'])
})

test('a directory itself has events without a name, and IN_IGNORED is the last', async () => {
  const directory = join(scratch(), 'd')
  mkdirSync(directory)
  const inotify = open()
  const wd = inotify.add(directory, IN_DELETE_SELF)
  const iterator = inotify[Symbol.asyncIterator]()
  rmdirSync(directory)
  const batch = (await iterator.next()).value as EventBatch
  expect([...batch]).toEqual([
    { wd, mask: IN_DELETE_SELF, cookie: 0, name: '' },
    { wd, mask: IN_IGNORED, cookie: 0, name: '' },
  ])
})

test('events made before there is a listener are not lost', async () => {
  const directory = scratch()
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  writeFileSync(join(directory, 'early'), '')
  // Turns of the loop in which an instance without a consumer could have read and dropped it.
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  const [batch] = (await once(inotify, 'events')) as [EventBatch]
  expect(batch.name(0)).toBe('early')
})

test('removing the last listener stops delivery, the next one gets what came between', async () => {
  const directory = scratch()
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  const names: string[] = []
  const listener = (batch: EventBatch) => names.push(...[...batch].map(({ name }) => name))
  inotify.on('events', listener)
  writeFileSync(join(directory, 'first'), '')
  await once(inotify, 'events')
  inotify.removeAllListeners()
  writeFileSync(join(directory, 'between'), '')
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  inotify.on('events', listener)
  writeFileSync(join(directory, 'last'), '')
  while (!names.includes('last')) await once(inotify, 'events')
  expect(names).toEqual(['first', 'between', 'last'])
})

test('a slow iterator holds delivery back and gets everything in order', async () => {
  const directory = scratch()
  const inotify = open({ batchWindow: 0 })
  inotify.add(directory, IN_CREATE)
  const iterator = inotify[Symbol.asyncIterator]()
  const made: string[] = []
  // These are more batches than may wait: a turn of the loop between two files makes each a batch of its own.
  for (let i = 0; i < 40; i++) {
    made.push(`f${i}`)
    writeFileSync(join(directory, `f${i}`), '')
    await new Promise(setImmediate)
  }
  const seen: string[] = []
  for await (const batch of iterator) {
    for (const { name } of batch) seen.push(name)
    if (seen.length >= made.length) break
  }
  expect(seen).toEqual(made)
})

test('two iterators each get every batch; leaving one leaves the other', async () => {
  const directory = scratch()
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  const both = [eventsUntil(inotify, 'end'), eventsUntil(inotify, 'end')]
  const left = inotify[Symbol.asyncIterator]()
  await left.return?.()
  for (const name of ['a', 'b', 'end']) writeFileSync(join(directory, name), '')
  for (const events of await Promise.all(both)) expect(events.map(({ name }) => name)).toEqual(['a', 'b'])
})

test('close inside a listener: nothing is delivered after it, and closing twice is closing once', async () => {
  const directory = scratch()
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  let batches = 0
  let closes = 0
  inotify.on('close', () => closes++)
  inotify.on('events', () => {
    batches++
    inotify.close()
    writeFileSync(join(directory, 'later'), '')
  })
  writeFileSync(join(directory, 'first'), '')
  await once(inotify, 'close')
  inotify.close()
  const other = open()
  other.add(directory, IN_CREATE)
  await eventsSoFar(other, directory)
  expect([batches, closes]).toEqual([1, 1])
})

test('close ends iterators; what had come is still handed out', async () => {
  const directory = scratch()
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  const iterator = inotify[Symbol.asyncIterator]()
  writeFileSync(join(directory, 'a'), '')
  await once(inotify, 'events')
  const waiting = iterator.next()
  inotify.close()
  expect((await waiting).value?.name(0)).toBe('a')
  expect(await iterator.next()).toEqual({ done: true, value: undefined })
  expect(await inotify[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined })
})

test('an AbortSignal closes it, also one that has aborted before', async () => {
  const controller = new AbortController()
  const inotify = open({ signal: controller.signal })
  const closed = once(inotify, 'close')
  controller.abort()
  await closed
  await once(open({ signal: controller.signal }), 'close')
})

test('dispose closes', async () => {
  const inotify = new Inotify()
  inotify[Symbol.dispose]()
  expect(thrownBy(() => inotify.add('/', IN_CREATE))).toMatchObject({
    code: 'EBADF',
    hint: 'this Inotify is closed',
  })
})

const threads = () => readdirSync('/proc/self/task').length

test('open and close 500 times: no descriptor and no thread is left', async () => {
  const [fdsBefore, threadsBefore] = [openInstances(), threads()]
  for (let i = 0; i < 500; i++) {
    const inotify = new Inotify()
    const closed = once(inotify, 'close')
    inotify.on('events', () => {})
    inotify.close()
    await closed
  }
  await expect.poll(openInstances).toBe(fdsBefore)
  expect(threads()).toBe(threadsBefore)
})

test.each([
  ['a path that is not there', (inotify: Inotify) => inotify.add('/no/such/path', IN_CREATE), 'ENOENT'],
  ['a file as a component', (inotify: Inotify) => inotify.add('/etc/passwd/x', IN_CREATE), 'ENOTDIR'],
  ['an empty mask', (inotify: Inotify) => inotify.add('/', 0), 'EINVAL'],
  ['a name too long', (inotify: Inotify) => inotify.add(`/${'x'.repeat(5000)}`, IN_CREATE), 'ENAMETOOLONG'],
  [
    'a Buffer too long',
    (inotify: Inotify) => inotify.add(Buffer.alloc(5000, 'x'), IN_CREATE),
    'ENAMETOOLONG',
  ],
])('%s is an InotifyError with its path and what to do', (_, add, code) => {
  const error = thrownBy(() => add(open()))
  expect(error).toMatchObject({ name: 'InotifyError', code, syscall: 'inotify_add_watch' })
  expect(error.errno).toBeLessThan(0)
  expect(error.path).toBeTruthy()
  expect(error.hint).not.toBe('')
})

test('EEXIST for IN_MASK_CREATE on an inode that is watched by another name', () => {
  const directory = scratch()
  symlinkSync(directory, join(directory, 'self'))
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  const error = thrownBy(() => inotify.add(join(directory, 'self'), IN_CREATE | IN_MASK_CREATE))
  expect(error).toMatchObject({ code: 'EEXIST', path: join(directory, 'self') })
})

test('removing a wd that is none is EINVAL', () => {
  expect(thrownBy(() => open().remove(12345))).toMatchObject({ code: 'EINVAL', syscall: 'inotify_rm_watch' })
})

test('maxQueuedBytes: 0 is no guard thread, and events all the same', async () => {
  const directory = scratch()
  const before = threads()
  const inotify = open({ maxQueuedBytes: 0 })
  expect(threads()).toBe(before)
  using _ = new Inotify()
  expect(threads()).toBe(before + 1)
  inotify.add(directory, IN_CREATE)
  mkdirSync(join(directory, 'd'))
  expect((await eventsSoFar(inotify, directory)).map(({ name }) => name)).toEqual(['d'])
})

test('EACCES for a directory that may not be read, and setuid() with a guard thread running', () => {
  const directory = scratch()
  chmodSync(directory, 0o000)
  if (process.getuid?.() === 0) {
    // Root may read everything: ask as nobody, in a process of its own.
    const code = `
      import { Inotify } from ${JSON.stringify(join(process.cwd(), 'dist/index.js'))}
      const inotify = new Inotify({ persistent: false })
      process.setuid(65534)
      try { inotify.add(${JSON.stringify(directory)}, 1) } catch (error) { console.log(error.code, error.hint) }`
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect(child.stdout).toMatch(/^EACCES .*permission/)
  } else {
    expect(thrownBy(() => open().add(directory, IN_CREATE))).toMatchObject({
      code: 'EACCES',
      path: directory,
    })
  }
})

test.each([
  [{ batchWindow: -1 }],
  [{ batchWindow: 1.5 }],
  [{ maxQueuedBytes: -1 }],
  [{ maxQueuedBytes: Number.NaN }],
  [{ signal: {} }],
  [{ persistent: 1 }],
])('bad options are a TypeError: %j', (options) => {
  const name = Object.keys(options)[0] as string
  expect(thrownBy(() => new Inotify(options as InotifyOptions))).toMatchObject({
    code: 'ERR_INVALID_ARG_VALUE',
    message: expect.stringContaining(`options.${name}`),
  })
})

test('a NUL in a path, a mask that is no number, a wd that is none: TypeErrors', () => {
  const inotify = open()
  for (const call of [
    () => inotify.add('a\0b', IN_CREATE),
    () => inotify.add('/', Number.NaN),
    () => inotify.add('/', 2 ** 33),
    () => inotify.remove(1.5),
  ]) {
    expect(thrownBy(call)).toMatchObject({ name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' })
  }
})

test('formatMask speaks of what is delivered', async () => {
  const directory = scratch()
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  mkdirSync(join(directory, 'd'))
  const [event] = await eventsSoFar(inotify, directory)
  expect(formatMask(event?.mask ?? 0)).toBe('IN_CREATE|IN_ISDIR')
})
