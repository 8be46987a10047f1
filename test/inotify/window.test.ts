import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { IN_CREATE, IN_MOVE, Inotify, type InotifyOptions } from '../../src/index.ts'
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'

function open(options: InotifyOptions): Inotify {
  const inotify = new Inotify(options)
  onTestFinished(() => inotify.close())
  return inotify
}

/** Returns if a libuv timer that repeats every `ms` ms runs in this loop. */
function timerRuns(ms: number): boolean {
  const { libuv } = process.report.getReport() as unknown as {
    libuv: Array<{ type: string; is_active: boolean; repeat?: number }>
  }
  return libuv.some(({ type, is_active, repeat }) => type === 'timer' && is_active && repeat === ms)
}

test('a window opens at the second event and closes when none comes: idle is idle', async () => {
  const directory = scratch()
  const inotify = open({ batchWindow: 297 })
  inotify.add(directory, IN_CREATE)
  inotify.on('events', () => {})
  let files = 0
  async function oneMore(): Promise<boolean> {
    const events = once(inotify, 'events')
    writeFileSync(join(directory, String(files++)), '')
    await events
    return timerRuns(297)
  }
  expect(await oneMore()).toBe(false)
  await expect.poll(oneMore, { timeout: 60_000 }).toBe(true)
  await expect.poll(() => timerRuns(297), { timeout: 60_000 }).toBe(false)
  // The delivery goes on after the window.
  await oneMore()
})

test('a window longer than the guard has patience is kept', async () => {
  const directory = scratch('/dev/shm')
  writeFileSync(join(directory, '0000000'), '')
  const batchWindow = 200
  const inotify = open({ batchWindow })
  inotify.add(directory, IN_MOVE)
  let batches = 0
  let events = 0
  const all = new Promise<void>((resolve) => {
    inotify.on('events', (batch) => {
      batches++
      events += batch.length
      if (events === 20_000) resolve()
    })
  })
  const began = performance.now()
  const writer = spawn(compile('renames'), [directory, '10000/10'], { stdio: 'inherit' })
  expect(await once(writer, 'exit')).toEqual([0, null])
  await all
  // A second, if the writer gets a processor, is five windows of two or three batches each, of at most 64
  // KiB. One batch at each of the guard's wakeups would be a hundred.
  const windows = 1 + Math.ceil((performance.now() - began) / batchWindow)
  const full = Math.ceil((events * 32) / (64 * 1024))
  expect(batches).toBeLessThan(3 * windows + 2 * full)
})
