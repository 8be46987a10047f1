import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { IN_CREATE, IN_DONT_FOLLOW } from '../../../src/inotify/constants.ts'
import { Inotify } from '../../../src/inotify/inotify.ts'
import { systemClock } from '../../../src/watch/clock.ts'
import type { Listing } from '../../../src/watch/scan/listing.ts'
import { Patience } from '../../../src/watch/scan/patience.ts'
import { Walker } from '../../../src/watch/scan/walker.ts'
import { scratch } from '../../support/scratch.ts'

const FOREVER = new Patience(systemClock, Number.POSITIVE_INFINITY)
const NONE = new Patience(systemClock, 0)

function opened(mask = IN_CREATE, root = scratch()) {
  mkdirSync(join(root, 'a/b'), { recursive: true })
  writeFileSync(join(root, 'f'), '')
  const [walker, inotify] = [new Walker(mask), new Inotify()]
  onTestFinished(async () => {
    await walker.close()
    inotify.close()
  })
  return { root, walker, inotify }
}

const namesIn = (listings: readonly Listing[]) =>
  listings.map((listing) => [...listing.entries().keys()].sort())

async function walked({ walker, inotify }: ReturnType<typeof opened>, root: string): Promise<Listing[]> {
  const found: Listing[] = []
  const request = { root, rel: '', recursive: true, watch: true }
  await walker.walk([request], (listing) => found.push(listing), inotify)
  return found
}

test('a walk that was made ahead is what the next one with its requests tells, and only that one', async () => {
  const all = opened()
  const { root, walker, inotify } = all
  const ahead = walker.walkAhead([{ root, rel: '', recursive: true, watch: true }], inotify, FOREVER)
  expect(namesIn(ahead ?? [])).toEqual([['a', 'f'], ['b'], []])
  writeFileSync(join(root, 'new'), '')
  expect(namesIn(await walked(all, root))).toEqual([['a', 'f'], ['b'], []])
  expect(namesIn(await walked(all, root))).toEqual([['a', 'f', 'new'], ['b'], []])
})

test('several are told to whoever asks for them, each once, until they are out of date', async () => {
  const all = opened()
  const { root, walker, inotify } = all
  const ahead = (at: string) =>
    walker.walkAhead([{ root: at, rel: '', recursive: true, watch: true }], inotify, FOREVER)
  for (const at of [root, join(root, 'a'), root]) ahead(at)
  writeFileSync(join(root, 'new'), '')
  writeFileSync(join(root, 'a/new'), '')
  expect(namesIn(await walked(all, join(root, 'a')))[0]).toEqual(['b'])
  expect(namesIn(await walked(all, join(root, 'a')))[0]).toEqual(['b', 'new'])
  expect(namesIn(await walked(all, root))[0]).toEqual(['a', 'f'])
  expect(await walker.forgetAhead()).toHaveLength(3)
  expect(namesIn(await walked(all, root))[0]).toEqual(['a', 'f', 'new'])
})

describe('one that is not over in time', () => {
  const DIRECTORIES = 3000

  /** Begins a walk that is under way when this returns. */
  function begun() {
    // In memory, because on a disk the directories take ten times as long to make and remove.
    const all = opened(IN_CREATE, scratch('/dev/shm'))
    const { root, walker, inotify } = all
    for (let i = 0; i < DIRECTORIES; i++) mkdirSync(join(root, `a/b/${i}`))
    const request = { root, rel: '', recursive: true, watch: true }
    // A walk is never over before the first wait.
    expect(walker.walkAhead([request], inotify, NONE)).toBeUndefined()
    return all
  }

  test('is told as far as it has come, and then as it goes on', async () => {
    const all = begun()
    expect(await walked(all, all.root)).toHaveLength(DIRECTORIES + 3)
    expect(await walked(all, all.root)).toHaveLength(DIRECTORIES + 3)
  })

  test('goes on to its end while another is asked for, and is told as a whole', async () => {
    const all = begun()
    expect(await walked(all, join(all.root, 'a'))).toHaveLength(DIRECTORIES + 2)
    writeFileSync(join(all.root, 'new'), '')
    const found = await walked(all, all.root)
    expect(found).toHaveLength(DIRECTORIES + 3)
    expect(namesIn(found)[0]).toEqual(['a', 'f'])
  })

  test('ends where nobody asks for it any more, and says which watches it has added', async () => {
    const all = begun()
    expect((await all.walker.forgetAhead()).every((wd) => wd > 0)).toBe(true)
    expect(await walked(all, all.root)).toHaveLength(DIRECTORIES + 3)
  })

  test('is closed with its walker', async () => {
    const all = begun()
    const ended = expect(walked(all, all.root)).rejects.toMatchObject({ code: 'EBADF' })
    await all.walker.close()
    await ended
  })

  test('tells whoever asks of what goes wrong with taking it', async () => {
    const { root, walker, inotify } = begun()
    const request = { root, rel: '', recursive: true, watch: true }
    const fail = () => {
      throw new Error('enough')
    }
    await expect(walker.walk([request], fail, inotify)).rejects.toThrow('enough')
    let count = 0
    await walker.walk([request], () => void count++, inotify)
    expect(count).toBe(DIRECTORIES + 3)
  })
})

test('what a watch was refused of is told as it was then: it is polled, and compared with that', async () => {
  // A mask without events is EINVAL.
  const all = opened(IN_DONT_FOLLOW)
  const { root, walker, inotify } = all
  const [first] = walker.walkAhead([{ root, rel: '', recursive: true, watch: true }], inotify, FOREVER) ?? []
  expect(first?.wd).toBeLessThan(0)
  writeFileSync(join(root, 'new'), '')
  expect(namesIn(await walked(all, root))[0]).toEqual(['a', 'f'])
})

test('of a walker that is closed, or walks, none is made', async () => {
  const all = opened()
  const { root, walker, inotify } = all
  const request = { root, rel: '', recursive: true, watch: true }
  const walking = walked(all, root)
  expect(() => walker.walkAhead([request], inotify, FOREVER)).toThrow(
    expect.objectContaining({ code: 'EBUSY' }),
  )
  expect(await walking).toHaveLength(3)
  await walker.close()
  expect(() => walker.walkAhead([request], inotify, FOREVER)).toThrow(
    expect.objectContaining({ code: 'EBADF' }),
  )
})

test('a loop that is blocked while a walker is closed makes no thread one that was left behind', async () => {
  const all = opened()
  const warnings: string[] = []
  const onWarning = ({ message }: Error) => void warnings.push(message)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const ended = expect(walked(all, all.root)).rejects.toMatchObject({ code: 'EBADF' })
  const closed = all.walker.close()
  // Blocks for longer than the thread is waited for.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)
  await closed
  await ended
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
})
