import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'

const RENAMES = 100_000
// Over 1.4 of the 2 s for which the loop is blocked. A writer at full speed fills the kernel's queue in 50 ms, for which another
// busy process may well keep the guard from a processor: how often is a question for the benchmark.
const RENAMES_PER_MS = 70
const renames = compile('renames')

/** Blocks this thread, loop and all. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** What a consumer sees of RENAMES renames that are made while its loop is blocked. */
async function renamedWhileBlocked(options: InotifyOptions) {
  const directory = scratch('/dev/shm')
  writeFileSync(join(directory, '0000000'), '')
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
        if (name === 'end') {
          resolve()
          return
        }
        if (mask & IN_Q_OVERFLOW) {
          overflows++
          delivering = false
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
  const writer = spawn(renames, [directory, String(RENAMES), String(RENAMES_PER_MS)], {
    stdio: 'inherit',
  })
  const exited = once(writer, 'exit')
  block(2000)
  expect(await exited).toEqual([0, null])
  writeFileSync(join(directory, 'end'), '')
  await end
  return { delivered, overflows, outOfOrder }
}

test('200,000 events made while the loop is blocked for 2 s: all delivered, in order', async () => {
  expect(await renamedWhileBlocked({})).toEqual({ delivered: 2 * RENAMES, overflows: 0, outOfOrder: 0 })
})

test('with an arena of 1 MiB: what fits, in order, then exactly one overflow', async () => {
  const { delivered, overflows, outOfOrder } = await renamedWhileBlocked({ maxQueuedBytes: 1024 * 1024 })
  const queue = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
  // Each of these records has 32 bytes; a chunk's header and its unused end take less than a record of the greatest length.
  const fits = Math.floor((1024 * 1024) / 32)
  expect(overflows).toBe(1)
  expect(outOfOrder).toBe(0)
  expect(delivered).toBeGreaterThanOrEqual(fits + queue - 16 * 10)
  expect(delivered).toBeLessThanOrEqual(fits + queue)
})

test('a consumer that pauses is a blocked loop to the guard: nothing is lost', async () => {
  const directory = scratch('/dev/shm')
  writeFileSync(join(directory, '0000000'), '')
  const inotify = new Inotify()
  onTestFinished(() => inotify.close())
  inotify.add(directory, IN_MOVE | IN_CREATE)
  const [code] = await once(
    spawn(renames, [directory, String(RENAMES), String(RENAMES_PER_MS)], { stdio: 'inherit' }),
    'exit',
  )
  expect(code).toBe(0)
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
    // Longer than the guard's patience.
    block(20)
    writeFileSync(join(directory, `${round}-second`), '')
    const [batch] = (await once(inotify, 'events')) as [EventBatch]
    expect(Array.from({ length: batch.length }, (_, i) => batch.name(i))).toEqual([
      `${round}-first`,
      `${round}-second`,
    ])
  }
})
