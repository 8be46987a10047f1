import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import {
  type EventBatch,
  IN_CREATE,
  IN_MOVE,
  IN_MOVED_FROM,
  IN_Q_OVERFLOW,
  Inotify,
  type InotifyOptions,
} from '../../src/index.ts'
import { scratch } from '../support/scratch.ts'
import { asTaken, blockUntilTaken, directoryWithFile, renameBlocked } from './renames.ts'

const RENAMES = 100_000
// The bytes of each half of a rename.
const RECORD_BYTES = 32

/** Returns what a consumer gets of renames that are made while its loop is blocked. */
async function renamedWhileBlocked(steps: string[], options: InotifyOptions = {}) {
  const directory = directoryWithFile()
  const inotify = new Inotify(options)
  onTestFinished(() => inotify.close())
  inotify.add(directory, IN_MOVE | IN_CREATE)

  let delivered = 0
  let overflows = 0
  let outOfOrder = 0
  let delivering = true
  let cookie = 0
  const end = new Promise<void>((resolve) => {
    inotify.on('events', (batch: EventBatch) => {
      for (let i = 0; i < batch.length; i++) {
        const mask = batch.mask(i)
        const name = batch.name(i)
        if (name.startsWith('end')) {
          resolve()
          return
        }
        if (mask & IN_Q_OVERFLOW) {
          overflows++
          delivering = false
          // The 'end' below was lost in the full queue, too.
          writeFileSync(join(directory, `end-${overflows}`), '')
          continue
        }
        const left = (mask & IN_MOVED_FROM) !== 0
        const expected = left ? delivered / 2 : (delivered + 1) / 2
        if (Number(name) !== expected || (!left && batch.cookie(i) !== cookie)) outOfOrder++
        cookie = batch.cookie(i)
        if (delivering) delivered++
      }
    })
  })
  renameBlocked(inotify, directory, steps)
  writeFileSync(join(directory, 'end'), '')
  await end
  return { delivered, overflows, outOfOrder }
}

test('200,000 events made while the loop is blocked: all delivered, in order', async () => {
  expect(await renamedWhileBlocked(asTaken(RENAMES))).toEqual({
    delivered: 2 * RENAMES,
    overflows: 0,
    outOfOrder: 0,
  })
})

test('with an arena of 1 MiB: what fits, in order, then exactly one overflow', async () => {
  const queue = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
  // Makes nearly as many events as fit. Then makes more than the rest, which is in the arena as soon as any
  // of it has been taken. Then makes too many.
  const rest = 2000
  const steps = [...asTaken(16_000), `${rest}:${2 * rest * RECORD_BYTES - 1}`, '60000']
  const { delivered, overflows, outOfOrder } = await renamedWhileBlocked(steps, {
    maxQueuedBytes: 1024 * 1024,
  })
  // A chunk's header and its unused end take less than a record of the greatest length.
  const fits = Math.floor((1024 * 1024) / RECORD_BYTES)
  expect(overflows).toBe(1)
  expect(outOfOrder).toBe(0)
  expect(delivered).toBeGreaterThanOrEqual(fits + queue - 16 * 10)
  expect(delivered).toBeLessThanOrEqual(fits + queue)
})

test('a consumer that pauses is a blocked loop to the guard: nothing is lost', async () => {
  const directory = directoryWithFile()
  const inotify = new Inotify()
  onTestFinished(() => inotify.close())
  inotify.add(directory, IN_MOVE | IN_CREATE)
  renameBlocked(inotify, directory, asTaken(RENAMES))
  writeFileSync(join(directory, 'end'), '')
  let delivered = 0
  for await (const batch of inotify) {
    delivered += batch.length
    if (batch.name(batch.length - 1) === 'end') break
  }
  expect(delivered).toBe(2 * RENAMES + 1)
})

test('what was read in the stead of a blocked loop and what came behind it are one batch', async () => {
  const directory = scratch('/dev/shm')
  const inotify = new Inotify()
  onTestFinished(() => inotify.close())
  inotify.add(directory, IN_CREATE)
  for (let round = 0; round < 20; round++) {
    writeFileSync(join(directory, `${round}-first`), '')
    blockUntilTaken(inotify)
    writeFileSync(join(directory, `${round}-second`), '')
    const [batch] = (await once(inotify, 'events')) as [EventBatch]
    expect(Array.from({ length: batch.length }, (_, i) => batch.name(i))).toEqual([
      `${round}-first`,
      `${round}-second`,
    ])
  }
})

test('while the loop keeps the queue empty, the guard sleeps', async () => {
  const directory = scratch('/dev/shm')
  const threads = () => readdirSync('/proc/self/task')
  const before = threads()
  const inotify = new Inotify()
  onTestFinished(() => inotify.close())
  const [guard = '', ...others] = threads().filter((thread) => !before.includes(thread))
  expect(others).toEqual([])
  /** Returns how often the guard thread has gone to sleep. */
  const sleeps = () =>
    Number(
      /^voluntary_ctxt_switches:\s*(\d+)/m.exec(readFileSync(`/proc/self/task/${guard}/status`, 'utf8'))?.[1],
    )
  inotify.add(directory, IN_CREATE)

  let files = 0
  const sleepsIn = async (ms: number) => {
    const first = sleeps()
    const began = performance.now()
    while (performance.now() - began < ms) {
      const event = once(inotify, 'events')
      writeFileSync(join(directory, String(files++)), '')
      await event
      await setTimeout(1)
    }
    return sleeps() - first
  }
  // A guard that slept by the clock, 12 ms at a time, would have 20 sleeps and more. Where other processes
  // hold the processor for so long, the guard does look.
  await expect.poll(() => sleepsIn(250), { timeout: 60_000 }).toBeLessThan(10)
})
