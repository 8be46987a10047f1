import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { loadAddon, type NativeWalker } from '../../src/addon.ts'
import { openDescriptors, openInstances } from '../support/descriptors.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { openQueue, packRequests, pathsOf, RECURSIVE, readRecords, STAT, WATCH, walk } from './walking.mjs'

const { EBADF, ECANCELED } = constants.errno
const isBuilt = existsSync(join(import.meta.dirname, '../../out/addon.js'))
const PATIENCE = { timeout: 60_000, interval: 5 }

const threadIds = () => readdirSync('/proc/self/task')
const threads = () => threadIds().length

function timesWaited(thread: string): number {
  try {
    const status = readFileSync(`/proc/self/task/${thread}/status`, 'utf8')
    return Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1])
  } catch {
    return 0 // it has ended
  }
}

function sleeps(thread: string): boolean {
  try {
    return / S [^)]*$/.test(readFileSync(`/proc/self/task/${thread}/stat`, 'utf8'))
  } catch {
    return true // it has ended
  }
}

/** Blocks this thread, loop and all. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** 60 directories of 1000 files with long names: 16 MiB of records. */
const tree = `/dev/shm/inotify-bridge-walker-${process.pid}`
const DIRECTORIES = 60
const request = packRequests([{ flags: RECURSIVE | STAT | WATCH, root: tree }])
beforeAll(() => {
  for (let d = 0; d < DIRECTORIES; d++) {
    mkdirSync(join(tree, `${d}/below`), { recursive: true })
    for (let f = 0; f < 1000; f++) writeFileSync(join(tree, `${d}`, `${'f'.repeat(220)}${f}`), '')
  }
})
afterAll(() => rmSync(tree, { recursive: true, force: true }))

function openWalker(): NativeWalker {
  const walker = new (loadAddon().Walker)()
  onTestFinished(() => walker.close())
  return walker
}

/** The wds of this process's inotify instance by its own account (proc(5), fdinfo). */
function watchesHeld(): number[] {
  const instance = readdirSync('/proc/self/fd').find((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === 'anon_inode:inotify'
    } catch {
      return false // the descriptor of this very listing
    }
  })
  const account = readFileSync(`/proc/self/fdinfo/${instance}`, 'utf8')
  return [...account.matchAll(/^inotify wd:([\da-f]+)/gm)].map(([, wd]) => Number.parseInt(wd ?? '', 16))
}

/** Nothing is left of walks: no thread, no descriptor. */
function leavesNothing(): () => Promise<void> {
  const before = { threads: threads(), descriptors: openDescriptors() }
  return () =>
    vi.waitFor(() => {
      expect(threads()).toBeLessThanOrEqual(before.threads)
      expect(openDescriptors()).toBeLessThanOrEqual(before.descriptors)
    }, PATIENCE)
}

describe('the threads of walks', () => {
  const small = [{ flags: RECURSIVE | STAT, root: `${tree}/0/below` }]

  // The first test of the file: no thread waits yet.
  test('wait for the next one: a hundred walks of a hundred walkers, one after another, have those of the first', async () => {
    const before = new Set(threadIds())
    const own = () => threadIds().filter((id) => !before.has(id))
    // The waits by thread. A thread that is idle for a second ends.
    const waited = new Map<string, number>()
    for (let i = 0; i < 100; i++) {
      await walk(openWalker(), small)
      // A thread that has delivered its walk and does not wait yet cannot be used: the next walk would make another one.
      await vi.waitFor(() => expect(own().every(sleeps)).toBe(true), { timeout: 60_000, interval: 1 })
      for (const id of own()) waited.set(id, Math.max(waited.get(id) ?? 0, timesWaited(id)))
    }
    expect(waited.size).toBeLessThan(10)
    // Each walk wakes one of them up, as proc(5) counts: a thread of its own for each walk would have waited for none.
    expect([...waited.values()].reduce((sum, times) => sum + times, 0)).toBeGreaterThan(90)
  })

  test('do not wait for long, though a walker is open', async () => {
    const nothingLeft = leavesNothing()
    const walker = openWalker()
    await walk(walker, small)
    await nothingLeft()
    await walk(walker, small)
  })

  test('do not wait where no walker is open', async () => {
    const before = threads()
    let most = 0
    for (let i = 0; i < 100; i++) {
      const walker = openWalker()
      await walk(walker, small)
      walker.close()
      most = Math.max(most, threads() - before)
    }
    expect(most).toBeLessThan(20)
  })
})

test('finish() waits for a walk, and for all that may wait to be taken: its calls are made within this one, and no more', async () => {
  const nothingLeft = leavesNothing()
  const walker = openWalker()
  const queue = openQueue(loadAddon())
  const sizes: number[] = []
  let ends = 0
  let watched = 0
  const onRecords = (chunk: Buffer, done: boolean) => {
    sizes.push(chunk.length)
    if (done) ends++
    watched += readRecords(chunk).filter(({ wd }) => wd > 0).length
  }
  expect(walker.walk(queue, 0x100, request, onRecords)).toBe(0)
  walker.finish(Number.POSITIVE_INFINITY)
  // This is more than may wait at a time.
  expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(16 * 1024 * 1024)
  expect([ends, watched]).toEqual([1, 2 * DIRECTORIES + 1])
  const calls = sizes.length
  // The walk is over: another may begin.
  await walk(walker, [{ flags: RECURSIVE | STAT, root: `${tree}/0/below` }])
  expect(sizes.length).toBe(calls)
  // No walk is under way.
  walker.finish(Number.POSITIVE_INFINITY)
  walker.close()
  queue.close()
  await nothingLeft()
})

test('a walk that nobody takes from waits, and then goes on', async () => {
  const nothingLeft = leavesNothing()
  const chunks: number[] = []
  let records = 0
  let files = 0
  const over = new Promise<void>((resolve) => {
    expect(
      openWalker().walk(null, 0, request, (chunk, done) => {
        // The rest of 20 MiB, of which 16 may wait.
        if (chunks.length === 0) block(300)
        chunks.push(chunk.length)
        for (const each of readRecords(chunk)) {
          records++
          files += each.files.length
        }
        if (done) resolve()
      }),
    ).toBe(0)
  })
  await over
  expect({ records, files }).toEqual({ records: 2 * DIRECTORIES + 1, files: DIRECTORIES * 1000 })
  expect(chunks.reduce((sum, length) => sum + length, 0)).toBeGreaterThan(16 * 1024 * 1024)
  await nothingLeft()
})

test('the loop goes on between the chunks', async () => {
  let turns = 0
  let over = false
  const turn = () => {
    turns++
    if (!over) setImmediate(turn)
  }
  setImmediate(turn)
  await walk(openWalker(), [{ flags: RECURSIVE | STAT, root: tree }])
  over = true
  expect(turns).toBeGreaterThan(10)
})

test.each([0, 1, 5, 20])(
  'cancelled at record %i: what was watched is told, and a last call comes',
  async (at) => {
    const nothingLeft = leavesNothing()
    const queue = openQueue(loadAddon())
    const walker = openWalker()
    const records: ReturnType<typeof readRecords> = []
    const over = new Promise<void>((resolve) => {
      walker.walk(queue, 0x100, request, (chunk, done) => {
        records.push(...readRecords(chunk))
        if (records.length >= at) walker.cancel()
        if (done) resolve()
      })
    })
    if (at === 0) walker.cancel()
    await over
    pathsOf(records)
    expect(records.filter(({ error }) => error !== 0 && error !== -ECANCELED)).toEqual([])
    const told = records.filter(({ wd }) => wd > 0).map(({ wd }) => wd)
    expect(told.sort()).toEqual(watchesHeld().sort())
    queue.close()
    await nothingLeft()
  },
)

test('a cancelled walker walks again', async () => {
  const walker = openWalker()
  for (let i = 0; i < 20; i++) {
    const over = new Promise<void>((resolve) => {
      walker.walk(null, 0, request, (_, done) => done && resolve())
    })
    walker.cancel()
    await over
  }
  walker.cancel()
  expect(await walk(walker, [{ flags: RECURSIVE, root: tree }])).toHaveLength(2 * DIRECTORIES + 1)
})

test('closed during a walk: no more calls, and nothing is left', async () => {
  const nothingLeft = leavesNothing()
  for (let i = 0; i < 50; i++) {
    const queue = openQueue(loadAddon())
    const walker = openWalker()
    let closed = false
    let calls = 0
    const first = new Promise<void>((resolve) => {
      walker.walk(queue, 0x100, request, () => {
        expect(closed).toBe(false)
        // close() is called from within a callback as well as from outside.
        if (++calls === 3 || i % 5 === 0) {
          closed = true
          walker.close()
        }
        if (calls === 1) resolve()
      })
    })
    await first
    if (i % 3 === 0) {
      closed = true
      walker.close()
      walker.close()
    }
    // The walk has a descriptor of its own.
    queue.close()
  }
  await nothingLeft()
  expect(openInstances()).toBe(0)
})

test('a queue that is closed during a walk', async () => {
  const queue = openQueue(loadAddon())
  const walker = openWalker()
  const walked = walk(walker, [{ flags: RECURSIVE | WATCH | STAT, root: tree }], queue, 0x100)
  queue.close()
  expect((await walked).filter(({ wd }) => wd <= 0)).toEqual([])
  await vi.waitFor(() => expect(openInstances()).toBe(0), PATIENCE)
  await expect(walk(walker, [], queue)).rejects.toMatchObject({ errno: -EBADF })
})

const WORKERS = rounds(process.env.WORKERS, { quick: 8, long: 30 })

describe.skipIf(!isBuilt)('in a process of its own (needs dist)', () => {
  const run = (code: string) => {
    const addon = JSON.stringify(join(import.meta.dirname, '../../out/addon.js'))
    const walking = JSON.stringify(join(import.meta.dirname, 'walking.mjs'))
    const script = `
      const { loadAddon } = await import(${addon})
      const { openQueue, packRequests, RECURSIVE, STAT, walk } = await import(${walking})
      const addon = loadAddon()
      const root = ${JSON.stringify(tree)}
      const packed = packRequests([{ flags: RECURSIVE | STAT, root }])
      ${code}`
    const argv = ['--expose-gc', '--input-type=module', '-e', script]
    return promisify(execFile)(process.execPath, argv, { timeout: 60_000 })
  }

  test('a walk keeps the loop alive until its end, and the walker does not', async () => {
    const { stdout } = await run(
      `new addon.Walker().walk(null, 0, packed, (_, done) => { if (done) console.log('done') })`,
    )
    expect(stdout).toBe('done\n')
  })

  test('walkers that nobody holds are collected, their walks go on', async () => {
    const { stdout } = await run(`
      let done = 0
      for (let i = 0; i < 5; i++) {
        new addon.Walker().walk(null, 0, packed, (_, over) => { done += Number(over) })
        new addon.MountTable()
      }
      gc()
      setImmediate(gc)
      process.on('exit', () => console.log(done))`)
    expect(stdout).toBe('5\n')
  })

  test('a mount table keeps the loop alive while it is open and not unref()ed', async () => {
    const { stdout } = await run(`
      const [unreferenced, closed, open] = [0, 1, 2].map(() => new addon.MountTable())
      for (const each of [unreferenced, closed, open]) each.open(() => {})
      unreferenced.unref()
      closed.close()
      setTimeout(() => { console.log('alive'); open.unref() }, 50).unref()`)
    expect(stdout).toBe('alive\n')
  })

  test('an exception in the callback is an uncaught one, and the walk goes on', async () => {
    const { stdout } = await run(`
      let thrown = 0
      process.on('uncaughtException', (error) => { if (error.message === 'mine') thrown++ })
      new addon.Walker().walk(null, 0, packed, (_, done) => {
        if (done) console.log(thrown > 3)
        throw new Error('mine')
      })`)
    expect(stdout).toBe('true\n')
  })

  test('the process may end during a walk', async () => {
    const { stdout } = await run(`
      let calls = 0
      new addon.Walker().walk(null, 0, packed, () => {
        if (++calls === 3) { console.log('end'); process.exit() }
      })`)
    expect(stdout).toBe('end\n')
  })

  test(`${WORKERS} workers are terminated wherever they are in a walk: nothing is left, and none aborts`, async () => {
    const directory = scratch('/dev/shm')
    for (let i = 0; i < 300; i++) {
      mkdirSync(join(directory, `${i % 10}/${i}/below`), { recursive: true })
      writeFileSync(join(directory, `${i % 10}/${i}/file`), '')
    }
    const program = join(import.meta.dirname, 'walk_workers.mjs')
    const { stdout } = await promisify(execFile)(process.execPath, [program, directory, String(WORKERS)], {
      timeout: 250_000,
    })
    expect(JSON.parse(stdout)).toEqual({ terminated: WORKERS })
  })
})
