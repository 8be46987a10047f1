// promises.watch() of inotify-bridge/fs: an iterator, as node:fs has it.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import * as bridge from '../../src/entries/fs.ts'
import { scratch } from '../support/scratch.ts'

test('iterating gives events; leaving the loop closes the watcher', async () => {
  const directory = scratch()
  const events = bridge.promises.watch(directory)
  const next = events.next()
  fs.writeFileSync(join(directory, 'f'), 'x')
  expect((await next).value).toEqual({ eventType: 'rename', filename: 'f' })
  for await (const event of events) {
    expect(event).toEqual({ eventType: 'change', filename: 'f' })
    break
  }
  expect(await events.next()).toEqual({ done: true, value: undefined })
})

test('a signal ends it with an AbortError, one that has aborted before at once', async () => {
  const controller = new AbortController()
  const next = bridge.promises.watch(scratch(), { signal: controller.signal }).next()
  controller.abort(new Error('enough'))
  await expect(next).rejects.toMatchObject({
    name: 'AbortError',
    code: 'ABORT_ERR',
    cause: { message: 'enough' },
  })
  await expect(bridge.promises.watch('/', { signal: AbortSignal.abort() }).next()).rejects.toMatchObject({
    name: 'AbortError',
  })
  await expect(bridge.promises.watch('/there/is/nothing').next()).rejects.toMatchObject({
    code: 'ENOENT',
    syscall: 'watch',
  })
})

test('of who waits while there are more events than maxQueue these are left out, with a warning, or are an error', async () => {
  const directory = scratch()
  const warnings: string[] = []
  const onWarning = ({ message }: Error) => void warnings.push(message)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const few = bridge.promises.watch(directory, { maxQueue: 3 })
  const strict = bridge.promises.watch(directory, { maxQueue: 3, overflow: 'error' })
  const overflown = () => expect.poll(() => warnings.length).toBeGreaterThan(0)
  const names: unknown[] = []
  const drained = (async () => {
    for await (const { filename } of few) {
      if (names.push(filename) === 4) break
      await overflown()
    }
  })()
  const failure = expect(
    (async () => {
      for await (const _ of strict) await overflown()
    })(),
  ).rejects.toMatchObject({
    code: 'ERR_FS_WATCH_QUEUE_OVERFLOW',
    message: 'fs.watch() queued more than 3 events',
  })
  for (let i = 0; i < 50; i++) fs.mkdirSync(join(directory, `${i}`))
  await Promise.all([drained, failure])
  // The first is taken before the second comes.
  expect(names).toEqual(['0', '1', '2', '3'])
  expect(new Set(warnings)).toEqual(new Set(['fs.watch maxQueue exceeded']))
})
