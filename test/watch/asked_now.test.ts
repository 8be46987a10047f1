// A caller may call again within the same turn: the last call counts, and an error without a listener does
// not end the process.
import { getEventListeners, once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { watch } from '../../src/index.ts'
import { scratch } from '../support/scratch.ts'
import { failingWalks } from './engine/failing_walks.ts'
import { watching } from './support.ts'

const NEVER = 1_000_000

/** Returns the exceptions that are not caught from now on. */
function uncaught(): unknown[] {
  const others = process.listeners('uncaughtException')
  const caught: unknown[] = []
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => caught.push(error))
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of others) process.on('uncaughtException', listener)
  })
  return caught
}

test.for([
  { links: 2, listeners: 1 },
  { links: 5, listeners: 1 },
  { links: 5, listeners: 3 },
])(
  '$links errors in one turn, and $listeners that listen once: the first error is told',
  async ({ links, listeners }) => {
    const base = scratch()
    for (const name of ['tree', 'out']) mkdirSync(join(base, name))
    for (let i = 0; i < links; i++) {
      writeFileSync(join(base, `out/${i}`), '')
      symlinkSync(`../out/${i}`, join(base, `tree/${i}`))
    }
    const options = { followSymlinks: true, interval: NEVER, backend: 'poll' } as const
    const { watcher } = await watching(join(base, 'tree'), options)
    const caught = uncaught()
    const told = Array.from({ length: listeners }, () => once(watcher, 'error'))
    failingWalks().faults.set('out', { code: 'EIO', of: 'open' })
    await watcher.sync()
    for (const [error] of await Promise.all(told)) expect(error).toMatchObject({ code: 'EIO' })
    await new Promise(setImmediate)
    expect(caught).toEqual([])
    // The watcher goes on: an error without a listener has not ended it.
    expect(watcher.coverage()).toHaveLength(1)
  },
)

const turns: Record<string, () => Promise<void> | undefined> = {
  'in the same turn': () => undefined,
  'a microtask later': () => Promise.resolve(),
  'a turn later': () => new Promise(setImmediate),
}

test.for(
  Object.entries(turns).flatMap(([when, turn]) => ['close()', 'abort()'].map((how) => ({ how, when, turn }))),
)('$how $when leaves nothing on the signal, and says nothing', async ({ how, turn }) => {
  const controller = new AbortController()
  const { signal } = controller
  const watcher = watch(scratch(), { signal, recursive: true })
  const told: string[] = []
  for (const event of ['ready', 'changes', 'error'] as const) watcher.on(event, () => told.push(event))
  const closed = new Promise<void>((resolve) => watcher.on('close', resolve))
  const ready = watcher.ready.then(
    () => 'ready',
    () => 'rejected',
  )
  const wait = turn()
  if (wait !== undefined) await wait
  const before = [...told]
  if (how === 'close()') await watcher.close()
  else controller.abort()
  await Promise.all([closed, ready])
  expect(getEventListeners(signal, 'abort')).toEqual([])
  expect(told).toEqual(before)
})

test('50 watchers made and closed in one turn leave nothing on their signal', async () => {
  const { signal } = new AbortController()
  const directory = scratch()
  for (let i = 0; i < 50; i++) {
    const watcher = watch(directory, { signal })
    watcher.ready.catch(() => {})
    await watcher.close()
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('a signal that is aborted already', async () => {
  const watcher = watch(scratch(), { signal: AbortSignal.abort('over') })
  await expect(watcher.ready).rejects.toBe('over')
  await expect(watcher.sync()).rejects.toBe('over')
})
