import { once } from 'node:events'
import { mkdirSync, renameSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Change, Inotify, InotifyError, Watcher, type WatchOptions, watch } from '../../src/index.ts'
import { linux } from '../../src/watch/linux.ts'
import { openInstances } from '../support/descriptors.ts'
import { scratch } from '../support/scratch.ts'
import { inWords, story, watching } from './support.ts'

const BACKENDS = ['inotify', 'poll'] as const
const NEVER = 1_000_000

function open(paths: string | string[], options: WatchOptions) {
  const watcher = watch(paths, options)
  onTestFinished(() => watcher.close())
  return watcher
}

// once() of node:events would also listen for errors.
const closeOf = (watcher: Watcher) => new Promise<void>((resolve) => watcher.on('close', resolve))

/** Returns the exceptions that nothing caught while `act` ran. */
async function uncaughtDuring(act: () => Promise<void>): Promise<unknown[]> {
  const others = process.listeners('uncaughtException')
  const caught: unknown[] = []
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => caught.push(error))
  try {
    await act()
    await new Promise(setImmediate)
  } finally {
    process.removeAllListeners('uncaughtException')
    for (const listener of others) process.on('uncaughtException', listener)
  }
  return caught
}

describe.each(BACKENDS)('%s', (backend) => {
  const options = { backend, interval: NEVER }

  test('ready: the event and the promise', async () => {
    const watcher = open(scratch(), options)
    await Promise.all([once(watcher, 'ready'), watcher.ready])
  })

  // A path that can never exist is no missing root.
  const impossible = (base: string) => join(base, 'n'.repeat(300))

  test('ready rejects with what to do, and nothing is left open', async () => {
    const code = 'ENAMETOOLONG'
    const before = openInstances()
    const base = scratch()
    const path = impossible(base)
    const watcher = open([base, path], options)
    const closed = closeOf(watcher)
    await expect(watcher.ready).rejects.toMatchObject({ name: 'InotifyError', code, path, hint: /./ })
    await closed
    await expect(watcher.sync()).rejects.toMatchObject({ code })
    expect(openInstances()).toBe(before)
  })

  test('an iterator rejects with the error of the start, and an error listener is told', async () => {
    const watcher = open(impossible(scratch()), options)
    const told = once(watcher, 'error')
    const next = watcher[Symbol.asyncIterator]().next()
    await expect(next).rejects.toMatchObject({ code: 'ENAMETOOLONG' })
    expect((await told)[0]).toMatchObject({ code: 'ENAMETOOLONG' })
    await expect(watcher[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'ENAMETOOLONG' })
  })

  test('a failed start that nobody asked about is an unhandled rejection, not silence', async () => {
    const others = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    try {
      const unhandled = once(process, 'unhandledRejection')
      open(impossible(scratch()), options)
      expect((await unhandled)[0]).toMatchObject({ code: 'ENAMETOOLONG' })
    } finally {
      for (const listener of others) process.on('unhandledRejection', listener)
    }
  })

  test('async iteration', async () => {
    const directory = scratch()
    const { watcher } = await watching(directory, { backend, interval: 5 })
    const names: string[] = []
    mkdirSync(join(directory, 'a'))
    for await (const changes of watcher) {
      names.push(...changes.map((change) => inWords(change, directory)))
      if (names.length === 1) mkdirSync(join(directory, 'b'))
      if (names.length === 2) break
    }
    expect(names).toEqual(['create directory a', 'create directory b'])
    mkdirSync(join(directory, 'c'))
    await watcher.sync()
  })

  test('close ends iterators behind what had come, and everything else', async () => {
    const directory = scratch()
    const fds = openInstances()
    const [set, clear] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')]
    onTestFinished(() => void vi.restoreAllMocks())
    const { watcher } = await watching(directory, options)
    const iterator = watcher[Symbol.asyncIterator]()
    mkdirSync(join(directory, 'a'))
    await watcher.sync()
    const closed = once(watcher, 'close')
    const closing = watcher.close()
    expect(watcher.close()).toBe(closing)
    await Promise.all([closing, closed])
    expect((await iterator.next()).value).toHaveLength(1)
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    expect(await watcher[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined })
    await expect(watcher.sync()).rejects.toMatchObject({ code: 'EBADF', hint: 'this watcher is closed' })
    await expect(watcher.add(directory)).rejects.toMatchObject({ code: 'EBADF' })
    await watcher.remove(directory)
    expect(openInstances()).toBe(fds)
    const timers = set.mock.results
      .filter((_, i) => set.mock.calls[i]?.[1] === NEVER)
      .map(({ value }) => value)
    expect(timers).toHaveLength(backend === 'poll' ? 1 : 0)
    for (const timer of timers) expect(clear).toHaveBeenCalledWith(timer)
  })

  test('close inside a listener: nothing is reported after it', async () => {
    const directory = scratch()
    const { watcher } = await watching(directory, { backend, interval: 5 })
    let batches = 0
    const closed = new Promise<void>((resolve) => {
      watcher.on('changes', () => {
        batches++
        mkdirSync(join(directory, 'later'))
        resolve(watcher.close())
      })
    })
    mkdirSync(join(directory, 'a'))
    await closed
    expect(batches).toBe(1)
  })

  test.each([0, 1, 2, 3, 5, 8, 13])('close %i turns after the start: nothing is left', async (turns) => {
    const before = openInstances()
    const watcher = watch(scratch(), options)
    const ready = watcher.ready.then(
      () => undefined,
      (error) => error,
    )
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
    await watcher.close()
    const error = await ready
    if (error !== undefined) expect(error).toMatchObject({ code: 'EBADF', hint: 'this watcher is closed' })
    else expect(turns).toBeGreaterThan(0)
    expect(openInstances()).toBe(before)
  })

  test('a sync that close overtakes rejects', async () => {
    const { watcher } = await watching(scratch(), options)
    const syncing = watcher.sync()
    await Promise.all([expect(syncing).rejects.toMatchObject({ code: 'EBADF' }), watcher.close()])
  })

  test('an AbortSignal closes it; ready rejects with its reason if it was not ready', async () => {
    const controller = new AbortController()
    const { watcher } = await watching(scratch(), { ...options, signal: controller.signal })
    const closed = once(watcher, 'close')
    controller.abort(new Error('enough'))
    await closed

    const late = open(scratch(), { ...options, signal: controller.signal })
    late.on('ready', () => expect.unreachable())
    await expect(late.ready).rejects.toThrow('enough')
    await late.close()
    await expect(open([], { ...options, signal: controller.signal }).ready).rejects.toThrow('enough')
    // Closing is no error, even if nothing awaits `ready`.
    await open(scratch(), { ...options, signal: controller.signal }).close()
    await new Promise(setImmediate)
  })

  test('await using', async () => {
    const before = openInstances()
    {
      await using watcher = watch(scratch(), options)
      await watcher.ready
    }
    expect(openInstances()).toBe(before)
  })

  test('a listener that throws is an uncaught exception, and the watching goes on', async () => {
    const directory = scratch()
    const { watcher, told } = await watching(directory, options)
    const mistake = new Error('mistake')
    watcher.once('changes', () => {
      throw mistake
    })
    const caught = await uncaughtDuring(async () => {
      mkdirSync(join(directory, 'a'))
      await watcher.sync()
    })
    expect(caught).toEqual([mistake])
    mkdirSync(join(directory, 'b'))
    expect(story(await told(), directory).at(-1)).toBe('create directory b')
  })

  test('listeners of ready and close that throw: the watcher is ready, and closes', async () => {
    const mistake = new Error('mistake')
    const watcher = open(scratch(), options)
    const fail = () => {
      throw mistake
    }
    watcher.on('ready', fail).on('close', fail)
    const caught = await uncaughtDuring(async () => {
      await watcher.ready
      await watcher.close()
    })
    expect(caught).toEqual([mistake, mistake])
  })

  test('an ignore function that throws is an uncaught exception, and ignores nothing', async () => {
    const directory = scratch()
    const mistake = new Error('mistake')
    const ignore = (path: string) => {
      if (path.endsWith('bad')) throw mistake
      return false
    }
    const { told } = await watching(directory, { ...options, ignore })
    let changes: Change[] = []
    const caught = await uncaughtDuring(async () => {
      for (const name of ['bad', 'good']) mkdirSync(join(directory, name))
      changes = await told()
    })
    expect(new Set(caught)).toEqual(new Set([mistake]))
    expect(story(changes, directory).toSorted()).toEqual(['create directory bad', 'create directory good'])
  })

  describe('an iterator that is full', () => {
    async function full() {
      const directory = scratch()
      const { watcher, told } = await watching(directory, { backend, interval: 1 })
      const iterator = watcher[Symbol.asyncIterator]()
      // 4096 changes fill the iterator's buffer.
      for (let i = 0; i < 4096; i++) mkdirSync(join(directory, `d${i}`))
      await watcher.sync()
      return { directory, watcher, iterator, told }
    }

    test('does not hang sync, add, remove or close', async () => {
      const { directory, watcher, told, iterator } = await full()
      await told()
      mkdirSync(join(directory, 'more'))
      expect(story(await told(), directory)).toEqual(['create directory more'])
      const other = scratch()
      await watcher.add(other)
      await watcher.remove(other)
      const first = (await iterator.next()).value as Change[]
      expect(first.length).toBe(4097)
      expect(story(first, directory).at(-1)).toBe('create directory more')
      await watcher.close()
    })

    test('holds back what nobody waits for, until it is read', async () => {
      const { directory, iterator, told, changes } = await full().then(async (all) => {
        await all.told()
        const changes: Change[] = []
        all.watcher.on('changes', (batch) => changes.push(...batch))
        return { ...all, changes }
      })
      // A batch that is under way may slip through, and all later ones must not.
      for (let i = 0; i < 10; i++) {
        mkdirSync(join(directory, `e${i}`))
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      expect(changes.length).toBeLessThan(10)
      for (let i = 0; i < 3; i++) void iterator.next()
      await expect.poll(() => changes.length).toBe(10)
      await told()
    })

    test('may be the one whose reader waits for sync', async () => {
      const { directory, watcher, iterator } = await full()
      const { done } = await iterator.next()
      expect(done).toBe(false)
      mkdirSync(join(directory, 'more'))
      await watcher.sync()
    })
  })
})

describe('limits', () => {
  /** A system without a free inotify instance. */
  const system = {
    ...linux,
    choose: async () => ({ backend: 'inotify' as const, why: 'a test' }),
    openInotify: () => {
      throw new InotifyError({ errno: 'EMFILE', syscall: 'inotify_init1', hint: 'raise it' })
    },
  }
  const code = 'EMFILE'

  test('the root is polled, the limit said, with no need for an error listener', async () => {
    const directory = scratch()
    const { watcher, told } = await watching(directory, { interval: NEVER }, system)
    expect(watcher.coverage()).toMatchObject([
      {
        backend: 'poll',
        why: expect.stringContaining(code),
        uncovered: [{ path: directory, error: { code, path: directory } }],
      },
    ])
    mkdirSync(join(directory, 'a'))
    expect(await told()).toMatchObject([{ type: 'create', source: 'poll' }])
  })

  test('an error listener is told, and the backend that was asked for is not changed', async () => {
    const directory = scratch()
    const watcher = new Watcher(directory, { interval: NEVER }, system)
    onTestFinished(() => watcher.close())
    const [error] = await once(watcher, 'error')
    expect(error).toMatchObject({ code, path: directory, hint: 'raise it' })
    await watcher.ready

    const strict = new Watcher(directory, { backend: 'inotify' }, system)
    await expect(strict.ready).rejects.toMatchObject({ code, path: directory, hint: 'raise it' })
  })
})

test('a limit is not said any more of a root that is restored when there is an instance again', async () => {
  const root = join(scratch(), 'root')
  mkdirSync(root)
  const choose = async () => ({ backend: 'inotify' as const, why: 'a test' })
  let isShort = true
  const openInotify = (options: object) => {
    if (isShort) throw new InotifyError({ errno: 'EMFILE', syscall: 'inotify_init1' })
    return new Inotify(options)
  }
  const { watcher, told } = await watching(root, { interval: NEVER }, { choose, openInotify })
  expect(watcher.coverage()).toMatchObject([{ backend: 'poll', uncovered: [{ error: { code: 'EMFILE' } }] }])
  isShort = false
  rmdirSync(root)
  expect(story(await told(), root)).toEqual(['lost .'])
  mkdirSync(root)
  expect(story(await told(), root)).toEqual(['restored .'])
  expect(watcher.coverage()).toMatchObject([{ backend: 'inotify', uncovered: [] }])
})

test('events can no longer be read: error, and closed; a sync does not hang', async () => {
  let inotify: Inotify | undefined
  let isBroken = false
  const openInotify = (options: object) => {
    inotify = new Inotify(options)
    const iterate = inotify[Symbol.asyncIterator].bind(inotify)
    inotify[Symbol.asyncIterator] = () => {
      const iterator = iterate()
      const next = iterator.next.bind(iterator)
      iterator.next = async () => {
        const result = await next()
        if (isBroken) throw new Error('EIO')
        return result
      }
      return iterator
    }
    return inotify
  }
  const directory = scratch()
  const { watcher } = await watching(directory, { backend: 'inotify' }, { openInotify })
  const [told, closed] = [once(watcher, 'error'), closeOf(watcher)]
  const next = watcher[Symbol.asyncIterator]().next()
  const change = watcher.next()
  isBroken = true
  const syncing = watcher.sync()
  await Promise.all([
    expect(syncing).rejects.toMatchObject({ code: 'EBADF' }),
    expect(next).rejects.toThrow('EIO'),
    expect(change).rejects.toThrow('EIO'),
  ])
  expect((await told)[0]).toMatchObject({ message: 'EIO' })
  await closed
})

test('the source of a root is chosen anew when it is restored', async () => {
  const base = scratch()
  const root = join(base, 'root')
  mkdirSync(root)
  let backend: 'inotify' | 'poll' = 'inotify'
  const { watcher, told } = await watching(root, {}, { choose: async () => ({ backend, why: 'a test' }) })
  expect(watcher.coverage()[0]?.backend).toBe('inotify')
  backend = 'poll'
  renameSync(root, join(base, 'elsewhere'))
  mkdirSync(root)
  expect(story(await told(), root)).toEqual(['lost .', 'restored .'])
  expect(watcher.coverage()[0]?.backend).toBe('poll')
})
