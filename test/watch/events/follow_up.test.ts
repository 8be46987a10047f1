import { expect, test } from 'vitest'
import { InotifyError } from '../../../src/index.ts'
import type { EventsContext } from '../../../src/watch/events/context.ts'
import { FollowUp } from '../../../src/watch/events/follow_up.ts'
import type { Questions } from '../../../src/watch/pending/recheck_queue.ts'
import { Shortage } from '../../../src/watch/report/shortage.ts'
import type { Listing } from '../../../src/watch/scan/listing.ts'
import type { Directory } from '../../../src/watch/tree/directory.ts'
import { World } from './translating.ts'

/** Collects the names that are looked at once the events of a tree have settled. */
function settling(w: World, takeIn = async () => {}) {
  const { rechecks } = w.pending
  let asked: Questions = new Map()
  const seen = new Map<Directory, Listing>()
  const looker = {
    lookAt: async (questions: Questions, found: Map<Directory, Listing>) => {
      asked = questions
      for (const [directory, listing] of seen) found.set(directory, listing)
    },
  }
  const context = {
    tree: w.tree,
    rescan: { list: async () => {}, takeIn },
    looker,
    pending: w.pending,
    translator: w.translator,
    reporter: { report() {} },
    shortage: new Shortage({ trouble() {} }),
  } as unknown as EventsContext
  const followUp = new FollowUp(context)
  const settle = async () => {
    await followUp.hold()()
    await followUp.lookAgain()
    return new Map([...asked].map(([directory, names]) => [w.tree.pathOf(directory), names]))
  }
  return { followUp, rechecks, settle, seen }
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
  const { settle } = settling(w)
  w.pending.movedBetween.add(w.at('d'))
  expect([await settle(), w.pending.isUnsettled]).toEqual([new Map(), false])
})

test('what nobody can take in, for want of a thread to follow links with, stays in doubt', async () => {
  const w = new World({ 'd/': 1 })
  const { followUp, rechecks, seen } = settling(w, async () => {
    throw new InotifyError({ errno: 'EAGAIN', syscall: 'walk' })
  })
  const listing = { error: 0, isGone: false, ino: 1 } as unknown as Listing
  seen.set(w.at('d'), listing)
  rechecks.add(w.at('d'), 'x')
  const take = await followUp.lookAgain()
  await take?.()
  expect(rechecks.begin()).toEqual(new Map([[w.at('d'), ['x']]]))
})

test('events that leave nothing open ask for a mark when there are more than 100, and not again behind it', async () => {
  const w = new World()
  const { settle } = settling(w)
  w.pending.unmarked = 100
  expect(w.pending.isUnsettled).toBe(false)
  w.pending.unmarked++
  expect(w.pending.isUnsettled).toBe(true)
  await settle()
  expect(w.pending.isUnsettled).toBe(false)
})
