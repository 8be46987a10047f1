import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { compile } from '../support/compile.ts'
import { rounds } from '../support/long.ts'
import { stop } from '../support/stopped.ts'
import { directoryWithFile } from './renames.ts'

const EVENTS = rounds(process.env.EVENTS, { quick: 400_000, long: 600_000 })

const QUEUE = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))

/** The bytes that wait for the loop, as much again for the objects made of them, and a bare node. */
const MOST_MIB = 64 + 64 + 100

test(`${EVENTS} events while the process is stopped and continued at random: none is lost in silence, and memory is bounded`, async () => {
  const directory = directoryWithFile()
  const watcher = start(process.execPath, [join(import.meta.dirname, 'stopped_at_random.mjs'), directory])
  const lines = createInterface(watcher.stdout as NodeJS.ReadableStream)[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('ready')

  const writer = start(compile('renames'), [directory, String(EVENTS / 2)])
  const written = once(writer, 'exit')
  // The first stop is so long that the kernel's queue fills up; such a writer fills it in 60 ms.
  await stop(watcher)
  const full = namedNow(directory) + QUEUE
  await expect.poll(() => namedNow(directory), { interval: 5 }).toBeGreaterThan(full)
  watcher.kill('SIGCONT')
  while (writer.exitCode === null) {
    await setTimeout(Math.random() * 400)
    await stop(watcher)
    await setTimeout(Math.random() * 120)
    watcher.kill('SIGCONT')
  }
  expect((await written)[0]).toBe(0)

  const said = lines.next()
  for (let i = 0, isOver = false; !isOver; i++) {
    // A full queue drops the mark, so one is not enough.
    writeFileSync(join(directory, `end-${i}`), '')
    isOver = await Promise.race([said.then(() => true), setTimeout(50, false)])
    rmSync(join(directory, `end-${i}`))
  }
  const { delivered, overflows, lost, last, endsInOverflow, peakMiB } = JSON.parse((await said).value)
  expect(lost).toBe(0)
  expect(overflows).toBeGreaterThan(0)
  expect(delivered).toBeLessThan(EVENTS)
  // The last event came as well, unless the queue was full then.
  if (!endsInOverflow) expect(last).toBe(EVENTS)
  expect(peakMiB).toBeLessThan(MOST_MIB)
})

/** Returns the number that the file has for a name now. The file has no name between two. */
function namedNow(directory: string): number {
  return Number(readdirSync(directory)[0] ?? 0)
}

function start(program: string, args: string[]): ChildProcess {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}
