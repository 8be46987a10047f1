import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { compile } from '../support/compile.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'

const WORKERS = rounds(process.env.WORKERS, { quick: 20, long: 50 })
const WATCHERS = rounds(process.env.WATCHERS, { quick: 100, long: 500 })

/**
 * Runs a program of this folder on a directory in which renames.c renames all the time, and returns its
 * output.
 */
async function saidUnderLoad(program: string, count: number, load: string) {
  const directory = scratch('/dev/shm')
  writeFileSync(join(directory, '0000000'), '')
  // The writer is ended by its pid.
  const writer = spawn(compile('renames'), [directory, load], { stdio: 'ignore' })
  const ended = once(writer, 'exit')
  onTestFinished(async () => {
    writer.kill()
    await ended
  })
  const args = ['--expose-gc', join(import.meta.dirname, program), directory, String(count)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(writer.exitCode).toBeNull()
  return JSON.parse(stdout)
}

/**
 * Checks ten measures of memory, in MiB. Memory that comes and goes with the load is no leak: a leak would
 * show in the least of the second half.
 */
function expectPlateau(rss: number[]): void {
  expect(rss).toHaveLength(10)
  // A sanitizer keeps freed memory for a while, to detect uses of it.
  const isSanitized = /\blib[a-z]+san\.so/.test(process.env.LD_PRELOAD ?? '')
  const most = isSanitized ? Number.POSITIVE_INFINITY : Math.min(...rss.slice(0, 5)) + 15
  expect(Math.min(...rss.slice(5)), `${rss} MiB`).toBeLessThan(most)
}

test(`${WORKERS} workers are started and terminated under load: no abort, no descriptor and no thread is left, and memory is on a plateau`, async () => {
  const { rss, ...others } = await saidUnderLoad('workers.mjs', WORKERS, '900000000')
  expect(others).toEqual({ withEvents: 0.9 * WORKERS, fdsLeft: 0, threadsLeft: 0 })
  expectPlateau(rss)
})

test(`${WATCHERS} watchers are opened and closed under load: likewise`, async () => {
  const { rss, ...others } = await saidUnderLoad('open_close.mjs', WATCHERS, '900000000/10')
  expect(others).toEqual({ fdsLeft: 0, threadsLeft: 0 })
  expectPlateau(rss)
})

test('an exception in a listener is an uncaught exception, and delivery goes on where that is survived', async () => {
  const directory = scratch()
  const code = `
    import { writeFileSync } from 'node:fs'
    import { IN_CREATE, Inotify } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    const inotify = new Inotify()
    inotify.add(${JSON.stringify(directory)}, IN_CREATE)
    let batches = 0
    inotify.on('events', () => {
      batches++
      if (batches === 2) inotify.close()
      else throw new Error('from a listener')
    })
    process.on('uncaughtException', (error, origin) => {
      console.log(origin, error.message)
      writeFileSync(${JSON.stringify(join(directory, 'second'))}, '')
    })
    inotify.on('close', () => console.log('batches', batches))
    writeFileSync(${JSON.stringify(join(directory, 'first'))}, '')`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    timeout: 60_000,
  })
  expect(stdout).toBe('uncaughtException from a listener\nbatches 2\n')
})

test.each([
  ['persistent: false', 'new Inotify({ persistent: false })'],
  ['unref()', 'new Inotify().unref()'],
  [
    'close()',
    '(() => { const inotify = new Inotify(); inotify.on("events", () => {}); inotify.close(); return inotify })()',
  ],
])('%s lets the process end', async (_, make) => {
  const code = `
    import { Inotify } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    const inotify = ${make}
    inotify.on('events', () => {})
    try { inotify.add('/', 0x100) } catch (error) { if (error.code !== 'EBADF') throw error }
    console.log('end of script')`
  const options = { timeout: 60_000 }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], options)
  expect(stdout).toBe('end of script\n')
})

test('ref() after unref() keeps the process alive until close()', async () => {
  const code = `
    import { Inotify } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    const inotify = new Inotify({ persistent: false }).ref()
    inotify.on('events', () => { console.log('event'); inotify.close() })
    inotify.add(process.argv[1], 0x100)
    console.log('ready')`
  const directory = scratch()
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  })
  const exited = once(child, 'exit')
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (output === 'ready\n') writeFileSync(join(directory, 'x'), '')
  })
  expect(await exited).toEqual([0, null])
  expect(output).toBe('ready\nevent\n')
})
