// A directory that is listed again has its watch added again. What is done in it at that moment must not be lost by that.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { IN_CREATE, IN_DELETE, IN_Q_OVERFLOW } from '../../../src/inotify/constants.ts'
import { barrier, Inotify } from '../../../src/inotify/inotify.ts'
import { DIRECTORY_MASK } from '../../../src/watch/events/watch_mask.ts'
import { Walker } from '../../../src/watch/scan/walker.ts'
import { compile } from '../../support/compile.ts'
import { rounds } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'

const COUNT = rounds(process.env.COUNT, { quick: 50_000, long: 100_000 })
// The watches are added in one walk, as fast as the addon can.
const AT_ONCE = 500

test('a watch that is added again, as its directory is written, loses no event', {
  timeout: 120_000,
}, async () => {
  const root = scratch('/dev/shm')
  const inotify = new Inotify()
  const walker = new Walker(DIRECTORY_MASK)
  onTestFinished(async () => {
    inotify.close()
    await walker.close()
  })
  let [made, removed, overflows] = [0, 0, 0]
  const met = new Set<number>()
  inotify.on('events', (batch) => {
    for (let i = 0; i < batch.length; i++) {
      const mask = batch.mask(i)
      if (mask & IN_CREATE) made++
      else if (mask & IN_DELETE) removed++
      else if (mask & IN_Q_OVERFLOW) overflows++
      else met.add(batch.wd(i))
    }
  })
  const requests = Array.from({ length: AT_ONCE }, () => ({ root, rel: '', watch: true }))
  await walker.walk(requests, () => {}, inotify)
  const writer = spawn(compile('names_in_turn'), [root, String(COUNT)], { stdio: 'inherit' })
  const ended = once(writer, 'exit')
  let walks = 0
  for (; writer.exitCode === null; walks++) await walker.walk(requests, () => {}, inotify)
  expect(await ended).toEqual([0, null])
  expect(walks).toBeGreaterThan(1)
  const mark = inotify[barrier]()
  await expect.poll(() => met.has(mark)).toBe(true)
  expect({ made, removed, overflows }).toEqual({ made: COUNT, removed: COUNT, overflows: 0 })
})
