// Changes that others make behind a mount are told, though a local change or a local read of the same file comes first.
import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  IN_ALL_EVENTS,
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_MODIFY,
  IN_Q_OVERFLOW,
} from '../../src/inotify/constants.ts'
import { Mounted, mayMount } from './raw_reader.ts'

const CHANGES = IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE
/** Longer than it takes to do something on both sides. */
const INTERVAL_MS = 400

async function begin(watched: string) {
  const mounted = new Mounted(INTERVAL_MS)
  onTestFinished(() => mounted.end())
  const inside = await mounted.inside()
  writeFileSync(join(mounted.back, 'f'), 'one')
  const wd = await mounted.served.add(Buffer.from(join(mounted.front, watched)), IN_ALL_EVENTS)
  expect(wd).toBeGreaterThan(0)
  /** Events of the watch, up to a mark that is made behind the mount. */
  const told = async () => {
    writeFileSync(join(mounted.back, 'mark'), '')
    await mounted.served.add(Buffer.from(mounted.front), IN_ALL_EVENTS)
    const mark = `mark${Math.random()}`
    writeFileSync(join(mounted.back, mark), '')
    const events = await mounted.served.until(({ name }) => name === mark)
    // A look may tell of other names behind the mark that it found with them.
    writeFileSync(join(mounted.back, `${mark}.again`), '')
    events.push(...(await mounted.served.until(({ name }) => name === `${mark}.again`)))
    return events.filter((event) => event.wd === wd)
  }
  return { back: mounted.back, inside, told }
}

describe.skipIf(!mayMount)(
  'both sides of a mount (needs npm run build, bindfs, /dev/fuse, unshare -rm)',
  () => {
    test('a new name that is written to here is new first', async () => {
      const { back, inside, told } = await begin('')
      writeFileSync(join(back, 'x'), '')
      mkdirSync(join(back, 'd'))
      appendFileSync(join(inside, 'x'), 'more')
      chmodSync(join(inside, 'd'), 0o700)
      const events = await told()
      for (const name of ['x', 'd']) {
        const of = events.filter((event) => event.name === name && event.mask & CHANGES)
        expect(of.map(({ mask }) => (mask & IN_CREATE) !== 0)).toEqual(of.map((_, i) => i === 0))
      }
    })

    test.each(['', 'f'])('a write that is followed by a change of mode here (%s)', async (watched) => {
      const { back, inside, told } = await begin(watched)
      appendFileSync(join(back, 'f'), 'more')
      chmodSync(join(inside, 'f'), 0o600)
      const name = watched === '' ? 'f' : ''
      const masks = (await told()).filter((event) => event.name === name).map(({ mask }) => mask)
      for (const bit of [IN_MODIFY, IN_CLOSE_WRITE])
        expect(masks.filter((mask) => mask & bit)).toHaveLength(1)
      expect(masks.filter((mask) => mask & IN_ATTRIB)).not.toEqual([])
    })

    test('a write that is read here', async () => {
      const { back, inside, told } = await begin('f')
      appendFileSync(join(back, 'f'), 'more')
      readFileSync(join(inside, 'f'))
      const masks = (await told()).map(({ mask }) => mask)
      for (const bit of [IN_MODIFY, IN_CLOSE_WRITE])
        expect(masks.filter((mask) => mask & bit)).toHaveLength(1)
    })

    test('a program that does not read gets as many events as a queue takes, and IN_Q_OVERFLOW', async () => {
      const most = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
      const mounted = new Mounted(20)
      onTestFinished(() => mounted.end())
      const { back, front, served } = mounted
      await mounted.inside()
      mkdirSync(join(back, 'd'))
      const wd = await served.add(Buffer.from(join(front, 'd')), IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE)
      await served.ask('pause')
      for (let i = 0; i * 3 <= most; i++) writeFileSync(join(back, 'd', String(i)), 'x')
      // An event with such a name takes 32 bytes, IN_Q_OVERFLOW 16.
      await expect.poll(() => served.ask('queued'), { timeout: 60_000 }).toBe(most * 32 + 16)
      await served.ask('resume')
      const events = await served.until(({ mask }) => (mask & IN_Q_OVERFLOW) !== 0)
      expect(events).toHaveLength(most + 1)
      writeFileSync(join(back, 'd', 'next'), '')
      await served.until((event) => event.wd === wd && event.name === 'next')
    })
  },
)
