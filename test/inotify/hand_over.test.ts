import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import {
  type EventBatch,
  IN_CREATE,
  IN_MOVE,
  IN_Q_OVERFLOW,
  Inotify,
  type InotifyOptions,
} from '../../src/index.ts'
import { scratch } from '../support/scratch.ts'
import { asTaken, blockUntilTaken, directoryWithFile, renameBlocked } from './renames.ts'

// Between the guard thread and the loop: what one leaves to the other.

function open(options?: InotifyOptions): Inotify {
  const inotify = new Inotify(options)
  onTestFinished(() => inotify.close())
  return inotify
}

/** Makes `count` renames, two events each, and then the other `steps`, while this thread is blocked. */
function rename(inotify: Inotify, count: number, ...steps: string[]): void {
  const directory = directoryWithFile()
  inotify.add(directory, IN_MOVE)
  renameBlocked(inotify, directory, [...asTaken(count), ...steps])
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
}

/** Resolves when `events` have been delivered, to how many of them were overflows. */
function delivered(inotify: Inotify, events: number): Promise<number> {
  let count = 0
  let overflows = 0
  return new Promise((resolve) => {
    inotify.on('events', (batch: EventBatch) => {
      for (let i = 0; i < batch.length; i++) if (batch.mask(i) & IN_Q_OVERFLOW) overflows++
      count += batch.length
      if (count >= events || overflows > 0) resolve(overflows)
    })
  })
}

test('the last event that the guard took comes without another one behind it', async () => {
  const directory = scratch()
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  const events = once(inotify, 'events')
  await turns() // in which the listener's own wakeup passes
  writeFileSync(join(directory, 'x'), '')
  blockUntilTaken(inotify)
  const [batch] = (await events) as [EventBatch]
  expect(batch.name(0)).toBe('x')
})

test('what came while nobody listened comes without another event', async () => {
  const directory = scratch()
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  writeFileSync(join(directory, 'x'), '')
  blockUntilTaken(inotify)
  await turns() // in which the guard's wakeup passes, and finds nobody
  const [batch] = (await once(inotify, 'events')) as [EventBatch]
  expect(batch.name(0)).toBe('x')
})

test('a full arena is delivered to its end, in turns that leave room for others', async () => {
  const inotify = open()
  let turn = 0
  let longestTurn = 0
  inotify.on('events', () => {
    if (turn++ === 0) setImmediate(() => (turn = 0))
    longestTurn = Math.max(longestTurn, turn)
  })
  // 73 chunks of 2047 events.
  const all = delivered(inotify, 150_000)
  rename(inotify, 75_000)
  expect(await all).toBe(0)
  // 16 for each of the loop's occasions: the fd, the window and the guard's wakeup.
  expect(longestTurn).toBeLessThanOrEqual(3 * 16)
})

// A sanitizer keeps freed memory (scripts/sanitizers.mjs).
test.skipIf(process.env.ASAN_OPTIONS ?? process.env.TSAN_OPTIONS)(
  'what was delivered from the arena goes back to the system',
  async () => {
    const inotify = open()
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const megabytes = () => {
      collect()
      return Number(/^VmData:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024
    }
    const held: number[] = []
    for (let round = 0; round < 8; round++) {
      const all = delivered(inotify, 100_000)
      rename(inotify, 50_000)
      await all
      inotify.removeAllListeners('events')
      await turns()
      held.push(megabytes())
    }
    // 3 MB a round, of which the first ones are the engine's own to grow in.
    expect((held.at(-1) as number) - (held[2] as number), held.map(Math.round).join(' ')).toBeLessThan(8)
  },
)

test('a guard that found its arena full stands in again at the next block', async () => {
  const inotify = open({ maxQueuedBytes: 1024 * 1024 })
  for (let block = 0; block < 2; block++) {
    // The arena holds 32,752 of these events, or a few less, and the kernel 16,384: more than one alone, less than both. The arena is
    // full as soon as any of the last 10,000 has been taken.
    const all = delivered(inotify, 40_000)
    rename(inotify, 15_000, `5000:${10_000 * 32 - 1}`)
    expect(await all, `block ${block}`).toBe(0)
    inotify.removeAllListeners('events')
  }
})

test('the guard goes on after setuid(2), at which the C library interrupts every thread', async () => {
  const inotify = open()
  process.setuid?.(process.getuid?.() ?? 0)
  const all = delivered(inotify, 40_000)
  rename(inotify, 20_000)
  expect(await all).toBe(0)
})
