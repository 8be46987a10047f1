// The delivery of events, in comparison with node:fs: one by one, in the caller's async context, with the
// right filename. Refused options as well.
import { AsyncLocalStorage } from 'node:async_hooks'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as bridge from '../../src/entries/fs.ts'
import { scratch } from '../support/scratch.ts'

type Listener = (type: string, name: unknown) => void
type Watch = (path: string, options: { recursive?: boolean }, listener?: Listener) => bridge.FSWatcher
const APIS: ReadonlyArray<[string, Watch]> = [
  ['ours', (path, options, listener) => bridge.watch(path, options, listener)],
  ['theirs', fs.watch as unknown as Watch],
]

/** Makes `dir` with `f` and `d/f`, and a link to `dir` beside it. */
function tree(): string {
  const root = scratch()
  fs.mkdirSync(join(root, 'dir/d'), { recursive: true })
  for (const name of ['f', 'd/f']) fs.writeFileSync(join(root, 'dir', name), 'text')
  fs.symlinkSync('dir', join(root, 'link'))
  return root
}

const PATHS = [
  'dir',
  'dir/',
  'dir//',
  'dir/.',
  'dir/./',
  'dir/d/..',
  'dir/d/../',
  'link',
  'link/',
  'link/.',
  'dir/f',
  'dir//f',
  'link/f',
]

test.each(PATHS)('the filename of what happens to %s itself, and to what is in it', async (path) => {
  const root = tree()
  const said = APIS.map(([, watch]) => {
    const events: string[] = []
    const watcher = watch(`${root}/${path}`, {}, (type, name) => events.push(`${type} ${name}`))
    onTestFinished(() => watcher.close())
    return events
  })
  fs.chmodSync(join(root, path), 0o755)
  if (!path.endsWith('f')) fs.writeFileSync(join(root, path, 'new'), '')
  await expect.poll(() => said[1]?.length).toBe(path.endsWith('f') ? 1 : 2)
  await expect.poll(() => said[0]).toEqual(said[1])
})

test.each(['.', './', '..', '../', './.', '../.'])('the filename of what happens to %s', async (path) => {
  const root = tree()
  const before = process.cwd()
  process.chdir(join(root, 'dir'))
  onTestFinished(() => process.chdir(before))
  const said = APIS.map(([, watch]) => {
    const events: string[] = []
    const watcher = watch(path, {}, (type, name) => events.push(`${type} ${name}`))
    onTestFinished(() => watcher.close())
    return events
  })
  fs.chmodSync(path, 0o755)
  await expect.poll(() => said[1]?.length).toBe(1)
  await expect.poll(() => said[0]).toEqual(said[1])
})

describe.each(APIS)('%s', (_, watch) => {
  test.each([{}, { recursive: true }])(
    'listeners are called in the context of watch(): %o',
    async (options) => {
      const root = tree()
      const storage = new AsyncLocalStorage<string>()
      const seen = new Set<string>()
      const closed = new Set<string>()
      const watchers = ['one', 'other'].map((id) =>
        storage.run(id, () => watch(root, options, () => seen.add(`${id} in ${storage.getStore()}`))),
      )
      await sleep(50)
      for (const name of ['a', 'b', 'c']) fs.mkdirSync(join(root, name))
      await expect.poll(() => [...seen].sort()).toEqual(['one in one', 'other in other'])
      for (const watcher of watchers) watcher.on('close', () => closed.add(`${storage.getStore()}`))
      storage.run('the end', () => watchers.map((watcher) => watcher.close()))
      await expect.poll(() => [...closed]).toEqual(['the end'])
    },
  )
})

describe('promises.watch()', () => {
  test.each<[string, (at: (name: string) => string) => void, object, number]>([
    [
      '3,000 directories, recursive',
      (at) => Array.from({ length: 3000 }, (_, i) => fs.mkdirSync(at(`${i}`))),
      { recursive: true },
      3000,
    ],
    ['3,000 directories', (at) => Array.from({ length: 3000 }, (_, i) => fs.mkdirSync(at(`${i}`))), {}, 3000],
    [
      '100 directories, few waiting',
      (at) => Array.from({ length: 100 }, (_, i) => fs.mkdirSync(at(`${i}`))),
      { maxQueue: 3 },
      100,
    ],
    [
      'one file, by turns',
      (at) =>
        Array.from({ length: 1500 }, (_, i) => [
          fs.chmodSync(at('f'), i % 2 ? 0o600 : 0o644),
          fs.renameSync(at(i % 2 ? 'g' : 'h'), at(i % 2 ? 'h' : 'g')),
        ]),
      {},
      4500,
    ],
  ])('who is never behind gets all: %s', async (_, act, options, expected) => {
    const root = scratch('/dev/shm')
    for (const name of ['f', 'h']) fs.writeFileSync(join(root, name), '')
    const warnings: Error[] = []
    const onWarning = (warning: Error) => void warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    let count = 0
    const reading = (async () => {
      for await (const { filename } of bridge.promises.watch(root, options)) {
        if (filename === 'end') return
        // A consumer that only takes microtasks does not fall behind.
        await Promise.resolve().then(() => {})
        count++
      }
    })()
    act((name) => join(root, name))
    fs.mkdirSync(join(root, 'end'))
    await reading
    expect(count).toBe(expected)
    expect(warnings.map(({ message }) => message)).toEqual([])
  })

  // The errors are those of Node 22: earlier Nodes lack both options.
  test.each<[object, string, string]>([
    [{ maxQueue: 'silly' }, 'TypeError', 'ERR_INVALID_ARG_TYPE'],
    [{ maxQueue: null }, 'TypeError', 'ERR_INVALID_ARG_TYPE'],
    [{ maxQueue: true }, 'TypeError', 'ERR_INVALID_ARG_TYPE'],
    [{ maxQueue: 7n }, 'TypeError', 'ERR_INVALID_ARG_TYPE'],
    [{ maxQueue: {} }, 'TypeError', 'ERR_INVALID_ARG_TYPE'],
    [{ maxQueue: 1.5 }, 'RangeError', 'ERR_OUT_OF_RANGE'],
    [{ maxQueue: Number.NaN }, 'RangeError', 'ERR_OUT_OF_RANGE'],
    [{ maxQueue: Number.POSITIVE_INFINITY }, 'RangeError', 'ERR_OUT_OF_RANGE'],
    [{ maxQueue: 2 ** 53 }, 'RangeError', 'ERR_OUT_OF_RANGE'],
    [{ overflow: 'x' }, 'TypeError', 'ERR_INVALID_ARG_VALUE'],
    [{ overflow: 1 }, 'TypeError', 'ERR_INVALID_ARG_VALUE'],
    [{ overflow: null }, 'TypeError', 'ERR_INVALID_ARG_VALUE'],
    [{ maxQueue: -1, signal: AbortSignal.abort() }, 'AbortError', 'ABORT_ERR'],
    [{ maxQueue: 0, signal: AbortSignal.abort() }, 'AbortError', 'ABORT_ERR'],
    [{ maxQueue: 'silly', signal: AbortSignal.abort() }, 'TypeError', 'ERR_INVALID_ARG_TYPE'],
  ])('%o is refused: %s, %s', async (options, name, code) => {
    const iterator = bridge.promises.watch('/', options as bridge.promises.FSWatchIteratorOptions)
    await expect(iterator.next()).rejects.toMatchObject({ name, code })
  })
})
