import { spawnSync } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type EventBatch, IN_CREATE, Inotify, type InotifyOptions } from '../../src/index.ts'
import { barrier } from '../../src/inotify/inotify.ts'
import { openInstances } from '../support/descriptors.ts'
import { scratch } from '../support/scratch.ts'

function open(options?: InotifyOptions): Inotify {
  const inotify = new Inotify(options)
  onTestFinished(() => inotify.close())
  return inotify
}

/** Makes each file in a turn of the loop of its own, so that each is a batch of its own. */
async function makeInTurns(directory: string, names: string[]): Promise<void> {
  for (const name of names) {
    writeFileSync(join(directory, name), '')
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate)
  }
}

const names = (batch: EventBatch) => [...batch].map(({ name }) => name)

test('close() delivers nothing more, not even what waits in the kernel', async () => {
  const directory = scratch()
  const inotify = open()
  inotify.add(directory, IN_CREATE)
  let batches = 0
  inotify.on('events', () => batches++)
  writeFileSync(join(directory, 'x'), '')
  inotify.close()
  await once(inotify, 'close')
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  expect(batches).toBe(0)
})

test('close() gives the instance back before it returns', () => {
  const before = openInstances()
  const inotify = open()
  expect(openInstances()).toBe(before + 1)
  inotify.close()
  expect(openInstances()).toBe(before)
})

test('close() leaves nothing on its AbortSignal', () => {
  const { signal } = new AbortController()
  const inotify = open({ signal })
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  inotify.close()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('a child process inherits no descriptor of an instance: it would share the queue', () => {
  const inotify = open()
  inotify[barrier]()
  const { stdout } = spawnSync('ls', ['-l', '/proc/self/fd'], { encoding: 'utf8' })
  expect(stdout).toContain('/proc/')
  expect(stdout).not.toMatch(/anon_inode:(inotify|\[eventfd\])|memfd:/)
})

test('what waits for an iterator that is left is the next iterator’s, or the next listener’s', async () => {
  const directory = scratch()
  const inotify = open({ batchWindow: 0 })
  inotify.add(directory, IN_CREATE)
  const seen: string[] = []
  const iterator = inotify[Symbol.asyncIterator]()
  await makeInTurns(directory, ['a', 'b', 'c', 'd'])
  for (let i = 0; i < 2; i++) {
    for await (const batch of i === 0 ? iterator : inotify) {
      seen.push(...names(batch))
      break
    }
  }
  writeFileSync(join(directory, 'end'), '')
  inotify.on('events', (batch) => seen.push(...names(batch)))
  await expect.poll(() => seen.at(-1)).toBe('end')
  expect(seen).toEqual(['a', 'b', 'c', 'd', 'end'])
})

test('a wd beyond 32 bits is not taken for another', () => {
  const inotify = open()
  const wd = inotify.add(scratch(), IN_CREATE)
  expect(() => inotify.remove(wd + 2 ** 32)).toThrow(TypeError)
  inotify.remove(wd)
})

test('EMFILE: the hint names the limit of this process when that was it, also with one descriptor left', () => {
  const code = `
    import { closeSync, openSync } from 'node:fs'
    import { Inotify } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    new Inotify().close()
    const fds = []
    try { for (;;) fds.push(openSync('/', 'r')) } catch {}
    closeSync(fds.pop())
    try { new Inotify() } catch (error) { console.log(error.code, error.hint) }
    process.exit()`
  const { stdout } = spawnSync(
    'sh',
    ['-c', 'ulimit -n 80; exec "$0" --input-type=module -e "$1"', process.execPath, code],
    {
      encoding: 'utf8',
      timeout: 60_000,
    },
  )
  expect(stdout).toMatch(/^EMFILE .*ulimit -n/)
})

test.each([undefined, 'newListener', 'removeListener'])(
  'delivery begins after removeAllListeners(%s)',
  async (event) => {
    const directory = scratch()
    const inotify = open()
    inotify.add(directory, IN_CREATE)
    inotify.removeAllListeners(event as undefined)
    writeFileSync(join(directory, 'x'), '')
    const [batch] = (await once(inotify, 'events')) as [EventBatch]
    expect(names(batch)).toEqual(['x'])
  },
)
