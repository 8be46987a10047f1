// What a walk has open of the ways to its requests, and how long.
import { mkdirSync, renameSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadAddon, type NativeWalker } from '../../src/addon.ts'
import { descriptorsBelow } from '../support/descriptors.ts'
import { scratch } from '../support/scratch.ts'
import { packRequests, RECURSIVE, STAT, walk } from './walking.mjs'

function openWalker(): NativeWalker {
  const walker = new (loadAddon().Walker)()
  onTestFinished(() => walker.close())
  return walker
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
      walker.walk(null, 0, packed, (_, done) => void (done && resolve(descriptorsBelow(root))))
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
    expect(descriptorsBelow(root)).toBeGreaterThan(0)
    expect(descriptorsBelow(root)).toBeLessThanOrEqual(64)
    renameSync(join(root, 'd'), join(root, 'e'))
    expect(await lookAt100()).toBe(ino)
    walker.release()
    expect(descriptorsBelow(root)).toBe(0)
    expect(await lookAt100()).toBe(-constants.errno.ENOENT)
  })

  test('released in the midst of a walk, it is when that is over; and by close()', async () => {
    const root = makeChain()
    const walker = openWalker()
    walker.hold()
    const walking = walk(walker, levels(root))
    walker.release()
    await walking
    expect(descriptorsBelow(root)).toBe(0)
    walker.hold()
    await walk(walker, levels(root))
    expect(descriptorsBelow(root)).toBeGreaterThan(0)
    walker.close()
    expect(descriptorsBelow(root)).toBe(0)
    walker.hold()
  })
})
