import { expect, test } from 'vitest'
import { IN_DELETE, IN_MODIFY, InotifyError } from '../../../src/index.ts'
import type { StatResults } from '../../../src/watch/diff/looker.ts'
import { EventHandler } from '../../../src/watch/events/event_handler.ts'
import type { Questions } from '../../../src/watch/pending/recheck_queue.ts'
import { Shortage } from '../../../src/watch/report/shortage.ts'
import type { Listing } from '../../../src/watch/scan/listing.ts'
import type { Directory } from '../../../src/watch/tree/directory.ts'
import { file } from '../tree/believed.ts'
import { batchOf } from './batches.ts'
import { World } from './translating.ts'

/** Events of a believed tree, and what is asked about when they have settled. */
function settling(w: World, takeIn = async () => {}, looks: StatResults = new Map()) {
  const { rechecks } = w.pending
  let asked: Questions = new Map()
  const seen = new Map<Directory, Listing>()
  const looker = {
    lookAt: async (questions: Questions) => {
      asked = questions
      return seen
    },
    look: async () => looks,
  }
  const events = new EventHandler({
    tree: w.tree,
    translator: w.translator,
    rescan: { list: async () => {}, takeIn },
    looker,
    rules: w.rules,
    pending: w.pending,
    reporter: { report() {} },
    shortage: new Shortage({ trouble() {} }),
  })
  const settle = async () => {
    await events.hold()()
    await events.lookAgain()
    return new Map([...asked].map(([directory, names]) => [w.tree.pathOf(directory), names]))
  }
  return { events, rechecks, settle, seen }
}

test('directories between which one has moved are listed once more where anything else is in doubt', async () => {
  const w = new World({ 'd/': 1, 'e/': 2, 'f/': 3 })
  const { rechecks, settle } = settling(w)
  for (const path of ['d', 'e']) w.pending.movedBetween.add(w.at(path))
  rechecks.add(w.at('f'), 'x')
  expect(await settle()).toEqual(
    new Map([
      ['/t/f', ['x']],
      ['/t/d', undefined],
      ['/t/e', undefined],
    ]),
  )
})

test('and with them those that were listed lately, though nothing else is', async () => {
  const w = new World({ 'd/': 1, 'e/': 2 })
  const { settle } = settling(w)
  w.pending.movedBetween.add(w.at('d'))
  w.pending.scans.add(w.at('e'))
  expect([...(await settle()).keys()]).toEqual(['/t/d', '/t/e'])
})

test('a rename that fits what is believed costs nothing', async () => {
  const w = new World({ 'd/': 1 })
  const { events, settle } = settling(w)
  w.pending.movedBetween.add(w.at('d'))
  expect([await settle(), events.isUnsettled]).toEqual([new Map(), false])
})

test('what nobody can take in, for want of a thread to follow links with, stays in doubt', async () => {
  const w = new World({ 'd/': 1 })
  const { events, rechecks, seen } = settling(w, async () => {
    throw new InotifyError({ errno: 'EAGAIN', syscall: 'walk' })
  })
  const listing = { error: 0, isGone: false, ino: 1 } as unknown as Listing
  seen.set(w.at('d'), listing)
  rechecks.add(w.at('d'), 'x')
  const take = await events.lookAgain()
  await take?.()
  expect(rechecks.begin()).toEqual(new Map([[w.at('d'), ['x']]]))
})

test.each([
  [
    'where a poll looks as well, also by a look behind a write: another file may be believed since then',
    'inotify+poll',
    ['f', 'g'],
  ],
  ['else by events about the name alone', 'inotify', ['g']],
] as const)(
  'what was seen of a doubt is out of date by an event about the name; %s',
  async (_, backend, spoken) => {
    const w = new World({ f: 1, g: 2 })
    w.mount.backend = backend
    const seen = new Map([
      ['f', file(3)],
      ['g', null],
    ])
    const { events, rechecks } = settling(w, undefined, new Map([[w.root.wd, seen]]))
    rechecks.addAll(w.root)
    const questions = rechecks.begin()
    const batch = batchOf([w.event(IN_MODIFY, 'f'), w.event(IN_DELETE, 'g')])
    await events.handle(batch, 0, batch.length)
    expect([...(rechecks.commit(questions)?.(w.root) ?? [])].toSorted()).toEqual(spoken)
  },
)
