// The descriptors that a walk holds on the ways to its requests, and for how long.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadAddon, type NativeWalker } from '../../src/addon.ts'
import { descriptorsBelow } from '../support/descriptors.ts'
import { scratch } from '../support/scratch.ts'
import { COMPARE, packRequests, RECURSIVE, STAT, walk } from './walking.mjs'

function openWalker(): NativeWalker {
  const walker = new (loadAddon().Walker)()
  onTestFinished(() => walker.close())
  return walker
}

const LEVELS = 150
const at = (level: number) => Array.from({ length: level }, () => 'd').join('/')

/** Makes directories in each other, each with a sibling. */
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

test('an idle walk keeps nothing open between two passes', async () => {
  const root = makeChain()
  const walker = openWalker()
  const packed = packRequests(levels(root, STAT | COMPARE))
  await new Promise<void>((resolve) => {
    walker.walk(null, 0, packed, (_, done) => void (done && resolve()))
  })
  walker.commit()
  const before = walker.took()
  const over = new Promise<void>((resolve) => {
    walker.walk(null, 0, packed, (_, done) => void (done && resolve()), 60_000, 60_000)
  })
  await expect.poll(() => walker.took(), { timeout: 10_000 }).not.toBe(before)
  expect(descriptorsBelow(root)).toBe(0)
  walker.cancel()
  await over
})
