// What a walk has open of the ways to its requests, and how long.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readlinkSync, renameSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadAddon, type NativeWalker } from '../../src/addon.ts'
import { scratch } from '../support/scratch.ts'
import { packRequests, RECURSIVE, STAT, walk } from './walking.mjs'

function openWalker(): NativeWalker {
  const walker = new (loadAddon().Walker)()
  onTestFinished(() => walker.close())
  return walker
}

/** How many descriptors of what lies below a directory this process has. */
function openBelow(directory: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory)
    } catch {
      return false // the descriptor of this very listing
    }
  }).length
}

const LEVELS = 150
const at = (level: number) => Array.from({ length: level }, () => 'd').join('/')

/** Directories in each other, each with one beside the next. */
function makeChain(): string {
  const root = scratch('/dev/shm')
  for (let level = 1; level <= LEVELS; level++)
    mkdirSync(join(root, at(level), 'beside'), { recursive: true })
  return root
}

const levels = (root: string, flags = 0) =>
  Array.from({ length: LEVELS }, (_, level) => ({ flags, root, rel: at(level) }))

test('requests for each level of a chain, from below: each is answered by what lies there', async () => {
  const root = makeChain()
  const requests = levels(root, STAT).reverse()
  const records = await walk(openWalker(), requests)
  expect(records.map(({ id }) => id).sort((a, b) => a - b)).toEqual(requests.map((_, id) => id))
  for (const { id, error, subdirs } of records) {
    const names = subdirs.map(({ name }) => String(name)).sort()
    expect({ error, names }).toEqual({ error: 0, names: id === LEVELS - 1 ? ['d'] : ['beside', 'd'] })
  }
})

test('when a walk is said to be over, whatever it had open is closed', async () => {
  const root = makeChain()
  const walker = openWalker()
  const packed = packRequests([...levels(root), { flags: RECURSIVE, root }])
  for (let round = 0; round < 50; round++) {
    const open = await new Promise<number>((resolve) => {
      walker.walk(null, 0, packed, (_, done) => void (done && resolve(openBelow(root))))
    })
    expect(open).toBe(0)
  }
})

describe('held', () => {
  test('the next walk goes on from where the last one was, until it is released', async () => {
    const root = makeChain()
    const walker = openWalker()
    const lookAt100 = async () => {
      const [record] = await walk(walker, [{ flags: 0, root, rel: at(100) }])
      return record?.error === 0 ? record.ino : record?.error
    }
    walker.hold()
    const ino = await lookAt100()
    expect(openBelow(root)).toBeGreaterThan(0)
    expect(openBelow(root)).toBeLessThanOrEqual(64)
    renameSync(join(root, 'd'), join(root, 'e'))
    expect(await lookAt100()).toBe(ino)
    walker.release()
    expect(openBelow(root)).toBe(0)
    expect(await lookAt100()).toBe(-constants.errno.ENOENT)
  })

  test('released in the midst of a walk, it is when that is over; and by close()', async () => {
    const root = makeChain()
    const walker = openWalker()
    walker.hold()
    const walking = walk(walker, levels(root))
    walker.release()
    await walking
    expect(openBelow(root)).toBe(0)
    walker.hold()
    await walk(walker, levels(root))
    expect(openBelow(root)).toBeGreaterThan(0)
    walker.close()
    expect(openBelow(root)).toBe(0)
    walker.hold()
  })

  test('a watcher that is idle has nothing open, whatever it has ignored on its way', async () => {
    const { watch } = await import('../../src/index.ts')
    const root = makeChain()
    await using watcher = watch(root, { recursive: true, backend: 'inotify', ignore: ['**/beside'] })
    await watcher.ready
    expect(openBelow(root)).toBe(0)
    const told: string[] = []
    watcher.on('changes', (changes) => told.push(...changes.map(({ type }) => type)))
    execFileSync('mkdir', ['-p', join(root, 'new', at(100))])
    for (let level = 0; level < 100; level++) writeFileSync(join(root, 'new', at(level), 'f'), '')
    await watcher.sync()
    expect(told.filter((type) => type === 'create')).toHaveLength(201)
    expect(openBelow(root)).toBe(0)
  })
})
