import { renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { CLOCK_SLACK_MS } from '../../../src/watch/clock.ts'
import { isLong } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { type Outcome, play } from './play.ts'
import { ORDINARY, type Settings } from './settings.ts'
import { ComparingWatcher } from './watching/comparing_watcher.ts'
import type { Observe } from './watching/observer.ts'
import { rounds } from './world/operations.ts'
import { unavailable } from './world/world.ts'

// Tests of the model test's own machinery, with a watcher that is right and with watchers that are not.

const arbitrary = rounds(2, 4, 100)
const MOST_ROUNDS = 20

const comparing =
  (spoil?: (changes: Change[]) => Change[]): Observe =>
  ({ roots, initial }, tell) =>
    new ComparingWatcher(roots[0] as string, initial, tell, spoil)

async function outcomes(
  observe: Observe,
  settings: Partial<Settings> = {},
  count = isLong ? 2 : 1,
): Promise<Outcome[]> {
  const all: Outcome[] = []
  for (const round of fc.sample(arbitrary, { seed: 1, numRuns: count }))
    all.push(await play(round, settings, observe))
  return all
}

// Runs the watcher before the writers on some filesystems and amid them on the others; long runs do both on
// each.
describe.each([
  ['ext4', 'before'],
  ['overlay', 'amid'],
  ['tmpfs', 'before'],
] as const)('%s', (filesystem, turn) => {
  test.skipIf(unavailable({ ...ORDINARY, filesystem }))('a watcher that compares is right', async () => {
    for (const start of isLong ? (['before', 'amid'] as const) : [turn]) {
      const played = await outcomes(comparing(), { filesystem, start })
      expect(played.flatMap(({ wrong }) => wrong)).toEqual([])
      for (const { operations, told } of played) {
        // With fewer operations the writers only look for each other.
        expect(operations).toBeGreaterThan(800 * 0.25)
        // A watcher that starts amid the work tells nothing of the operations before its start, and the
        // scheduler decides how many those are.
        expect(told).toBeGreaterThan(start === 'before' ? 50 : 0)
      }
    }
  })
})

test('a watcher that compares tells of a link in the place of another that leads to the same', async () => {
  const [dir, told] = [scratch(), [] as Array<Change | Change<Buffer>>]
  symlinkSync('same', join(dir, 'l'))
  // A link that was just made would be told for its age alone.
  await setTimeout(2 * CLOCK_SLACK_MS)
  const watcher = new ComparingWatcher(dir, false, (changes) => told.push(...changes))
  symlinkSync('same', join(dir, 'new'))
  renameSync(join(dir, 'new'), join(dir, 'l'))
  await watcher.sync()
  expect(told.map(({ type, path }) => `${type} ${path}`)).toEqual([`modify ${join(dir, 'l')}`])
})

/** Turns each change of a type, but the first, into other changes. */
const spoiled = (type: Change['type'], as: (change: Change) => Change[]) => {
  let seen = 0
  return (changes: Change[]) =>
    changes.flatMap((change) => (change.type === type && ++seen > 1 ? as(change) : [change]))
}

test.each<[string, RegExp, (changes: Change[]) => Change[]]>([
  ['leaves out a create', /missed/, spoiled('create', () => [])],
  ['leaves out a delete', /a ghost|the name is taken/, spoiled('delete', () => [])],
  ['leaves out a modify', /not named|not told since/, spoiled('modify', () => [])],
  ['tells a create twice', /the name is taken/, spoiled('create', (change) => [change, change])],
  [
    'tells a delete twice',
    /nothing has this name|in no directory/,
    spoiled('delete', (change) => [change, change]),
  ],
  [
    'tells a modify as attrib',
    /not named|not told since/,
    spoiled('modify', (change) => [{ ...change, type: 'attrib' } as Change]),
  ],
  [
    'takes a file for a link',
    /believed to be/,
    spoiled('create', (change) => [{ ...change, kind: 'symlink' } as Change]),
  ],
])('a watcher that %s is found out', async (_, what, spoil) => {
  const found: string[] = []
  // Four writers make something else of a round each time. A round that ends with few written files may not
  // show the fault.
  for (const round of fc.sample(arbitrary, { seed: 1, numRuns: MOST_ROUNDS })) {
    found.push(...(await play(round, {}, comparing(spoil))).wrong)
    if (found.some((line) => what.test(line))) break
  }
  expect(found.join('\n')).toMatch(what)
})

test('a watcher that tells something after sync() is found out', async () => {
  const observe: Observe = ({ roots, initial }, tell) => {
    const watcher = new ComparingWatcher(roots[0] as string, initial, tell)
    const sync = async () => {
      await watcher.sync()
      tell([{ type: 'recovered', path: '/', source: 'rescan' }], Date.now())
    }
    return { ready: watcher.ready, sync, close: () => watcher.close() }
  }
  const [{ wrong } = { wrong: [] }] = await outcomes(observe, {}, 1)
  expect(wrong.join('\n')).toMatch(/^told after sync/)
})

test('a script shrinks to the operations that matter', () => {
  const matters = (what: string) => (script: readonly (readonly string[])[]) =>
    script.some((operation) => operation[0] === what)
  const found = fc.check(
    fc.property(arbitrary, (round) => {
      const scripts = round.flat()
      return !(scripts.some(matters('exchange')) && scripts.some(matters('back')))
    }),
    { seed: 1, numRuns: 1 },
  )
  expect(
    found.counterexample?.[0]
      .flat(2)
      .map(([what]) => what)
      .toSorted(),
  ).toEqual(['back', 'exchange'])
})
