// A mirror that looks when a relay says so. The interval is so long that no look comes by itself.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { mirror } from '../../src/entries/mirror.ts'
import type { MirrorOptions } from '../../src/mirror/options.ts'
import { TestRelay } from '../relay/support.ts'
import { scratch } from '../support/scratch.ts'

const NEVER = 1_000_000

/** Mirrors a directory with a relay of the one above, which has begun or is still to begin. */
async function mirrored(options: MirrorOptions = {}, isThere = true) {
  const above = scratch('/dev/shm')
  const source = join(above, 'source')
  const target = join(scratch('/dev/shm'), 'target')
  mkdirSync(source)
  await atomicWrite(source, { key: 'one' })
  const relay = new TestRelay()
  const start = () => relay.start(above)
  if (isThere) await start()
  const warnings: string[] = []
  const onWarning = ({ message }: Error) => warnings.push(message)
  process.on('warning', onWarning)
  const made = await mirror(source, target, { interval: NEVER, relay: relay.address, ...options })
  onTestFinished(async () => {
    process.off('warning', onWarning)
    await made.close()
  })
  const read = () => readFileSync(join(target, 'key'), 'utf8')
  return { source, made, relay, start, read, warnings }
}

test('a swap is in the target when the relay has told of it', async () => {
  const { source, read } = await mirrored()
  for (const text of ['two', 'three', 'four']) {
    await atomicWrite(source, { key: text })
    await expect.poll(read).toBe(text)
  }
})

test('flat files come when they have been quiet', async () => {
  const { source, made } = await mirrored({ interval: 2000, quiet: 50 })
  const changed: string[] = []
  made.on('update', (update) => changed.push(...update.changed))
  writeFileSync(join(source, 'flat'), 'text')
  await expect.poll(() => changed).toContain('flat')
})

test('what changes before the relay is there, is seen when it comes', async () => {
  const { source, read, start, warnings } = await mirrored({}, false)
  await expect.poll(() => warnings.join()).toMatch(/ENOENT.*until there is a relay, polls tell of changes/)
  await atomicWrite(source, { key: 'two' })
  await start()
  await expect.poll(read).toBe('two')
})

test('where the relay goes, the interval counts again', async () => {
  const { source, read, relay, warnings } = await mirrored({ interval: 50 })
  await atomicWrite(source, { key: 'two' })
  await expect.poll(read).toBe('two')
  await relay.stop()
  await expect.poll(() => warnings.join()).toMatch(/ECONNRESET|EPIPE/)
  await atomicWrite(source, { key: 'three' })
  await expect.poll(read, { timeout: 20_000 }).toBe('three')
})

test('an address that is none is a TypeError', async () => {
  const refused = mirror('/tmp', '/dev/shm/none', { relay: 'nowhere' })
  await expect(refused).rejects.toThrow(/^options.relay must be 'unix:PATH', or 'tcp:HOST:PORT'/)
})
