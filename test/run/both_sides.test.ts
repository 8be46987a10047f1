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
  },
)
