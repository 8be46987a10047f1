import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { ComparingWatcher } from './comparing_watcher.ts'
import { rounds } from './operations.ts'
import { FILESYSTEMS, unavailable } from './places.ts'
import { type Outcome, play, type Setting } from './play.ts'

// The model test's own machinery, with a watcher that can be trusted, and one that cannot.

const arbitrary = rounds(2, 4, 100)

function settingOf(spoil?: (changes: Change[]) => Change[]): Setting {
  const observe: Setting['observe'] = (root, { initial }) => new ComparingWatcher(root, initial, spoil)
  return { filesystem: 'tmpfs', writers: 4, queue: 16384, start: 'before', observe }
}

async function outcomes(setting: Setting, seed = 1, count = 2): Promise<Outcome[]> {
  const all: Outcome[] = []
  for (const round of fc.sample(arbitrary, { seed, numRuns: count })) all.push(await play(round, setting))
  return all
}

describe.each(FILESYSTEMS)('%s', (filesystem) => {
  test.skipIf(unavailable(filesystem))('a watcher that compares is right', async () => {
    for (const start of ['before', 'amid'] as const) {
      const played = await outcomes({ ...settingOf(), filesystem, start })
      expect(played.flatMap(({ wrong }) => wrong)).toEqual([])
      for (const { operations, changes } of played) {
        // Otherwise the writers but look for each other.
        expect(operations).toBeGreaterThan(800 * 0.25)
        expect(changes.length).toBeGreaterThan(50)
      }
    }
  })
})

/** Tells each change of a type, but the first, as something else. */
const spoiled = (type: Change['type'], as: (change: Change) => Change[]) => {
  let seen = 0
  return (changes: Change[]) =>
    changes.flatMap((change) => (change.type === type && ++seen > 1 ? as(change) : [change]))
}

test.each<[string, RegExp, (changes: Change[]) => Change[]]>([
  ['leaves out a create', /missed/, spoiled('create', () => [])],
  ['leaves out a delete', /a ghost|there already/, spoiled('delete', () => [])],
  ['leaves out a modify', /not named/, spoiled('modify', () => [])],
  ['tells a create twice', /there already/, spoiled('create', (change) => [change, change])],
  ['tells a delete twice', /not there|in no directory/, spoiled('delete', (change) => [change, change])],
  [
    'tells a modify as attrib',
    /not named/,
    spoiled('modify', (change) => [{ ...change, type: 'attrib' } as Change]),
  ],
  [
    'takes a file for a link',
    /believed to be/,
    spoiled('create', (change) => [{ ...change, kind: 'symlink' } as Change]),
  ],
])('a watcher that %s is found out', async (_, what, spoil) => {
  const played = await outcomes(settingOf(spoil))
  expect(played.flatMap(({ wrong }) => wrong).join('\n')).toMatch(what)
})

test('a watcher that tells something after sync() is found out', async () => {
  class Late extends ComparingWatcher {
    override async sync(): Promise<void> {
      await super.sync()
      super.emit('changes', [{ type: 'recovered', path: '/', source: 'rescan' }])
    }
  }
  const observe: Setting['observe'] = (root, { initial }) => new Late(root, initial)
  const [{ wrong } = { wrong: [] }] = await outcomes({ ...settingOf(), observe }, 1, 1)
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
