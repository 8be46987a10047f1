// inotify-bridge/fs in comparison with node:fs: both get the same arguments, and the test compares their
// events.
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import * as bridge from '../../src/entries/fs.ts'
import { FSWatcher } from '../../src/fs/fs_watcher.ts'
import { Inotify } from '../../src/inotify/inotify.ts'
import { Watcher } from '../../src/watch/watcher.ts'
import { scratch } from '../support/scratch.ts'

const END = 'the end'

type Watch = (
  path: fs.PathLike,
  options: object,
  listener: (type: string, name: unknown) => void,
) => {
  close(): void
}

/**
 * Leaves out an event that equals the last one, because the kernel merges two equal events if the first is
 * still unread.
 */
function note(events: string[], event: string): void {
  if (events.at(-1) !== event) events.push(event)
}

/** Returns the events of a watcher for changes in a directory, up to the file that is made last. */
async function said(
  watch: Watch,
  path: string,
  options: object,
  act: () => void,
  end: () => void,
): Promise<string[]> {
  const events: string[] = []
  const over = new Promise<void>((resolve) => {
    const watcher = watch(path, options, (type, name) => {
      if (String(name) === END) resolve()
      else note(events, `${type} ${Buffer.isBuffer(name) ? `<${name.toString('latin1')}>` : name}`)
    })
    onTestFinished(() => watcher.close())
  })
  act()
  end()
  await over
  return events
}

const node: Watch = (path, options, listener) => fs.watch(path, options as fs.WatchOptions, listener)
const ours: Watch = (path, options, listener) => bridge.watch(path, options, listener)

const ACTS: ReadonlyArray<[what: string, act: (at: (name: string) => string) => void]> = [
  ['a file is made and written', (at) => fs.writeFileSync(at('new'), 'x')],
  [
    'a file is written, and written by adding',
    (at) => [fs.writeFileSync(at('f'), 'xy'), fs.appendFileSync(at('f'), 'z')],
  ],
  ['a file is renamed', (at) => fs.renameSync(at('f'), at('g'))],
  [
    'a file is renamed over another',
    (at) => [fs.writeFileSync(at('g'), ''), fs.renameSync(at('f'), at('g'))],
  ],
  ['a file is removed', (at) => fs.rmSync(at('f'))],
  [
    'modes of a file and of a directory',
    (at) => [fs.chmodSync(at('f'), 0o600), fs.chmodSync(at('d'), 0o700)],
  ],
  [
    'a directory is made, renamed and removed',
    (at) => [fs.mkdirSync(at('e')), fs.renameSync(at('e'), at('h')), fs.rmdirSync(at('h'))],
  ],
  ['what is in a directory below is none of its', (at) => fs.writeFileSync(at('d/f'), '')],
  [
    'a link, and a name that is not ASCII',
    (at) => [fs.symlinkSync('f', at('l')), fs.writeFileSync(at('ä'), '')],
  ],
  ['many files', (at) => Array.from({ length: 300 }, (_, i) => fs.writeFileSync(at(`file ${i}`), ''))],
  ['the directory’s own mode', (at) => fs.chmodSync(at('.'), 0o750)],
]

describe.each([{}, { encoding: 'buffer' }, { encoding: 'hex' }, { encoding: 'latin1' }])('%o', (options) => {
  test.each(ACTS)('%s: the events of fs.watch(), in their order', async (_, act) => {
    const each = await Promise.all(
      [node, ours].map(async (watch) => {
        const directory = join(scratch(), 'watched')
        fs.mkdirSync(join(directory, 'd'), { recursive: true })
        fs.writeFileSync(join(directory, 'f'), '')
        const at = (name: string) => join(directory, name)
        const marked =
          'encoding' in options && options.encoding === 'hex' ? Buffer.from(END).toString('hex') : END
        const translated: Watch = (path, given, listener) =>
          watch(path, given, (type, name) => listener(type, String(name) === marked ? END : name))
        return await said(
          translated,
          directory,
          options,
          () => act(at),
          () => fs.writeFileSync(at(END), ''),
        )
      }),
    )
    // Node leaves the last event of a burst to the next read.
    expect(each[1]).toEqual(each[0])
    expect(each[0]?.length ?? 0).toBeGreaterThanOrEqual(_.includes('none of its') ? 0 : 1)
  })
})

test.each<[string, (path: string) => void, string]>([
  ['written', (path) => fs.writeFileSync(path, 'more'), 'change file'],
  ['renamed', (path) => fs.renameSync(path, `${path}-away`), 'rename file'],
  ['removed', (path) => fs.rmSync(path), 'rename file'],
])('a file that is %s', async (_, act, last) => {
  const [one, other] = [node, ours].map((watch) => {
    const path = join(scratch(), 'file')
    fs.writeFileSync(path, '')
    const events: string[] = []
    const watcher = watch(path, {}, (type, name) => note(events, `${type} ${name}`))
    onTestFinished(() => watcher.close())
    act(path)
    return events
  })
  await expect.poll(() => one?.at(-1)).toBe(last)
  await expect.poll(() => other).toEqual(one)
})

const BAD: ReadonlyArray<readonly unknown[]> = [
  ['/there/is/nothing'],
  [''],
  [7],
  [undefined],
  [['/']],
  ['a\0b'],
  ['/', 7],
  ['/', { encoding: 'x' }],
  ['/', 'x'],
  ['/', { recursive: 1 }],
  ['/', { signal: 1 }],
  ['/', {}, 7],
  [new URL('http://host/')],
  [`/${'a'.repeat(300)}`],
  [`/${'a/'.repeat(3000)}`],
]

test.each(BAD)('watch(%o, %o, %o) throws what fs.watch() throws', (...args) => {
  const thrown = [fs.watch, bridge.watch].map((watch) => {
    try {
      const watcher = (watch as (...args: unknown[]) => { close(): void })(...args)
      watcher.close()
      return 'nothing'
    } catch (error) {
      const { name, message, code } = error as NodeJS.ErrnoException
      return { name, message, code, ...(error as object), cause: undefined, hint: undefined }
    }
  })
  expect(thrown[1]).toEqual(thrown[0])
})

/**
 * Resolves when a new watcher of a directory has told a change by this call. Older watchers have then told
 * all changes before.
 */
async function untilTold(directory: string): Promise<void> {
  const last = `${Math.random()}`
  const told = new Promise<void>((resolve) => {
    const watcher = bridge.watch(directory, (_, name) => {
      if (name !== last) return
      watcher.close()
      resolve()
    })
  })
  fs.writeFileSync(join(directory, last), '')
  await told
}

test('close() tells no more, and "close" once, in the next tick; ref() and unref() give the watcher', async () => {
  const directory = scratch()
  const watcher = bridge.watch(directory)
  const told: string[] = []
  watcher.on('close', () => told.push('close')).on('change', () => told.push('change'))
  expect(watcher.ref().unref()).toBe(watcher)
  fs.writeFileSync(join(directory, 'f'), '')
  watcher.close()
  watcher.close()
  expect(told).toEqual([])
  await untilTold(directory)
  expect(told).toEqual(['close'])
})

test('a listener that throws is an uncaught exception, and others, and it, are told of the rest', async () => {
  const directory = scratch()
  const thrown: unknown[] = []
  const others = process.rawListeners('uncaughtException') as Array<(error: Error) => void>
  process
    .removeAllListeners('uncaughtException')
    .on('uncaughtException', (error) => thrown.push(error.message))
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException')
    for (const other of others) process.on('uncaughtException', other)
  })
  const names: unknown[] = []
  const throwing = bridge.watch(directory, (_, name) => {
    throw new Error(String(name))
  })
  const watcher = bridge.watch(directory, (_, name) => names.push(name))
  const tree = bridge.watch(directory, { recursive: true }, (_, name) => {
    throw new Error(`tree ${name}`)
  })
  onTestFinished(() => {
    for (const each of [throwing, watcher, tree]) each.close()
  })
  const made = Array.from({ length: 20 }, (_, i) => `${i}`)
  for (const name of made) fs.mkdirSync(join(directory, name))
  await expect.poll(() => names).toEqual(made)
  await expect.poll(() => thrown.length).toBe(40)
  expect([...thrown].sort()).toEqual([...made, ...made.map((name) => `tree ${name}`)].sort())
})

test('what can no longer be read is an error of each that watches, and who watches then is told', async () => {
  const directory = scratch()
  const added = vi.spyOn(Inotify.prototype, 'add')
  const followed = vi.spyOn(Watcher.prototype, 'on')
  onTestFinished(() => {
    added.mockRestore()
    followed.mockRestore()
  })
  const said: string[] = []
  const flat = [bridge.watch(directory), bridge.watch(directory)]
  const tree = bridge.watch(directory, { recursive: true })
  for (const [i, each] of [...flat, tree].entries())
    each
      .on('error', ({ message }) => said.push(`${i}: ${message}`))
      .on('close', () => said.push(`${i} is closed`))
  const watcher = followed.mock.contexts[0] as Watcher
  await watcher.ready
  watcher.emit('error', new Error('a tree'))
  expect(said).toEqual([])
  await watcher.close()
  await expect.poll(() => said).toEqual(['2: a tree', '2 is closed'])
  const inotify = added.mock.contexts[0] as Inotify
  inotify.emit('error', new Error('gone'))
  inotify.close()
  await expect.poll(() => said.slice(2).sort()).toEqual(['0 is closed', '0: gone', '1 is closed', '1: gone'])
  await untilTold(directory)
})

test('what fails while it is opened is an error of a later turn, which who awaits the watcher still hears, unless it is closed', async () => {
  const failing = () =>
    new FSWatcher(undefined, (_, fail) => {
      queueMicrotask(() => fail(new Error('too early')))
      return () => {}
    })
  const open = async () => failing()
  const told = vi.fn()
  const watcher = await open()
  await null
  await new Promise((resolve) => process.nextTick(resolve))
  watcher.on('error', told)
  const closed = new Promise<void>((resolve) => watcher.on('close', resolve))
  failing().on('error', told).close()
  await closed
  expect(told.mock.calls).toEqual([[expect.objectContaining({ message: 'too early' })]])
})

test('where events of a tree were lost, anything may have changed: a filename of null says so, and what differs is told', async () => {
  const directory = scratch()
  const followed = vi.spyOn(Watcher.prototype, 'on')
  onTestFinished(() => followed.mockRestore())
  const said: string[] = []
  const tree = bridge.watch(directory, { recursive: true }, (type, name) => said.push(`${type} ${name}`))
  onTestFinished(() => tree.close())
  const watcher = followed.mock.contexts[0] as Watcher<Buffer>
  const path = Buffer.from(directory)
  watcher.emit('changes', [
    { type: 'overflow', path, source: 'inotify' },
    { type: 'create', path: Buffer.from(join(directory, 'f')), kind: 'file', mask: 0, source: 'rescan' },
    { type: 'recovered', path, source: 'rescan' },
  ])
  expect(said).toEqual(['rename null', 'rename f'])
})

test('a listener may close, and watch again what is watched; others go on', async () => {
  const directory = scratch()
  const events: string[] = []
  const first = bridge.watch(directory, () => {
    first.close()
    events.push('first')
  })
  const second = bridge.watch(pathToFileURL(directory), (type, name) => events.push(`${type} ${name}`))
  onTestFinished(() => second.close())
  fs.writeFileSync(join(directory, 'f'), 'x')
  await expect.poll(() => events).toEqual(['first', 'rename f', 'change f'])
  const third = bridge.watch(Buffer.from(directory), { encoding: 'buffer' }, (_, name) =>
    events.push(`third ${name}`),
  )
  onTestFinished(() => third.close())
  fs.rmSync(join(directory, 'f'))
  await expect.poll(() => events.slice(3).sort()).toEqual(['rename f', 'third f'])
})

test('a signal closes it, one that has aborted as well', async () => {
  const controller = new AbortController()
  const events: string[] = []
  const watching = bridge
    .watch(scratch(), { signal: controller.signal })
    .on('close', () => events.push('one'))
  controller.abort()
  bridge.watch(scratch(), { signal: AbortSignal.abort() }).on('close', () => events.push('other'))
  await expect.poll(() => events).toEqual(['one', 'other'])
  expect(watching.listenerCount('close')).toBe(1)
})

describe('recursive', () => {
  test('what is done right after watch() has returned is told, and what comes below directories that are made', async () => {
    const root = scratch()
    fs.mkdirSync(join(root, 'a'))
    const names = new Set<unknown>()
    const watcher = bridge.watch(root, { recursive: true }, (_, name) => names.add(name))
    onTestFinished(() => watcher.close())
    fs.writeFileSync(join(root, 'at once'), '')
    await expect.poll(() => names.has('at once')).toBe(true)
    // Once a watcher tells a change below, it watches everything below.
    await expect
      .poll(() => {
        fs.writeFileSync(join(root, 'a/first'), `${Math.random()}`)
        return names.has('a/first')
      })
      .toBe(true)
    fs.mkdirSync(join(root, 'b/c/d'), { recursive: true })
    fs.writeFileSync(join(root, 'b/c/d/f'), '')
    await expect.poll(() => names.has('b/c/d/f')).toBe(true)
    names.clear()
    fs.renameSync(join(root, 'b/c'), join(root, 'a/c'))
    await expect.poll(() => [...names].sort()).toEqual(['a/c', 'b/c'])
    names.clear()
    fs.writeFileSync(join(root, 'a/c/d/f'), 'more')
    await expect.poll(() => [...names]).toEqual(['a/c/d/f'])
  })

  test('of what lies right in it each event is told once', async () => {
    const root = scratch()
    fs.mkdirSync(join(root, 'a'))
    const events: string[] = []
    const watcher = bridge.watch(root, { recursive: true }, (type, name) => events.push(`${type} ${name}`))
    onTestFinished(() => watcher.close())
    await expect
      .poll(() => {
        fs.writeFileSync(join(root, 'a/first'), `${Math.random()}`)
        return events.some((event) => event.endsWith('a/first'))
      })
      .toBe(true)
    events.length = 0
    fs.writeFileSync(join(root, 'f'), 'x')
    fs.mkdirSync(join(root, 'b'))
    fs.writeFileSync(join(root, 'b/end'), '')
    await expect.poll(() => events.includes('rename b/end')).toBe(true)
    expect(events.filter((event) => / (f|b)$/.test(event))).toEqual(['rename f', 'change f', 'rename b'])
  })
})

test('with throwIfNoEntry: false a path at which there is nothing is watched in vain', async () => {
  const path = join(scratch(), 'missing')
  let events = 0
  const watcher = bridge.watch(path, { throwIfNoEntry: false }, () => events++)
  fs.writeFileSync(path, '')
  await untilTold(dirname(path))
  watcher.close()
  expect(events).toBe(0)
  expect(() => bridge.watch('\0', { throwIfNoEntry: false })).toThrow(TypeError)
})
