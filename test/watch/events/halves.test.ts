// An exchange is told by four events, and a read may end between any two of them.
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { IN_CREATE, IN_DELETE_SELF, IN_ISDIR, IN_MODIFY, IN_MOVED_FROM } from '../../../src/index.ts'
import type { EventsContext } from '../../../src/watch/events/context.ts'
import { EventHandler } from '../../../src/watch/events/event_handler.ts'
import { FollowUp } from '../../../src/watch/events/follow_up.ts'
import { Shortage } from '../../../src/watch/report/shortage.ts'
import type { LookedAt } from '../../../src/watch/scan/entry.ts'
import { file, folder } from '../tree/believed.ts'
import { batchOf, type Event } from './batches.ts'
import { type Now, World } from './translating.ts'

/** Reads of events in a believed tree, all of them made when the names stand for `now`; of others nobody knows. */
function reading(w: World, now: Now = {}) {
  const changes: Change[] = []
  const look = async (names: ReadonlyMap<number, readonly LookedAt[]>) => {
    for (const [wd, some] of names) {
      const [directory] = w.tree.at(wd)
      const pathOf = (name: string) => (directory ? w.tree.pathOf(directory, name).slice('/t/'.length) : '')
      for (const each of some) each.seen = now[pathOf(each.name)]
    }
  }
  const lost: string[] = []
  const { tree, translator, rules, pending } = w
  const reporter = { report: (told: readonly Change[]) => void changes.push(...told) }
  const shortage = new Shortage({ trouble() {} })
  const rescan = { list: async () => {}, takeIn: async () => {} }
  const looker = { look, lookAt: async () => new Map() }
  const context = { tree, rescan, looker, rules, pending, reporter, shortage } as unknown as EventsContext
  const followUp = new FollowUp(context, translator)
  const events = new EventHandler(context, translator, followUp)
  /** What is told behind this read. */
  const read = async (...some: Event[]) => {
    const handled = await events.handle(batchOf(some), 0, some.length)
    for (let gone = handled; gone !== undefined; gone = await events.goOn(gone)) {
      for (const top of gone.tops) lost.push(`${changes.length} changes before ${top.name} is lost`)
    }
    return w.words(changes.splice(0))
  }
  const mark = async () => {
    expect(await events.flush()).toBeUndefined()
    return w.words(changes.splice(0))
  }
  return { events, followUp, read, mark, lost }
}

const SWAPPED: Now = { a: file(2), b: file(1) }
const EXCHANGE = 'exchange file a file b'

describe('an exchange in two reads', () => {
  test.each([1, 2, 3])('of which the first ends behind event %i of four: it is one change', async (end) => {
    const w = new World({ a: 1, b: 2 })
    const { read, events, followUp } = reading(w, SWAPPED)
    const all = [...w.rename('a', 'b', 1), ...w.rename('b', 'a', 2)]
    expect([await read(...all.slice(0, end)), events.holdsBack, followUp.isUnsettled]).toEqual([
      [],
      true,
      true,
    ])
    expect([await read(...all.slice(end)), events.holdsBack]).toEqual([[EXCHANGE], false])
    expect([...w.tree.entriesOf(w.root)].toSorted()).toEqual(Object.entries(SWAPPED))
  })

  test('and each event for itself, with others of other directories in between', async () => {
    const w = new World({ a: 1, b: 2, 'd/': 3 })
    const { read } = reading(w, { ...SWAPPED, 'd/x': file(4) })
    const all = [...w.rename('a', 'b', 1), ...w.rename('b', 'a', 2)]
    const told: string[] = []
    for (const event of all) told.push(...(await read(event, w.event(IN_MODIFY, 'd/x'))))
    expect(told[0]).toBe(EXCHANGE)
  })

  test('of one that was made just before: what is there by now is not taken for it', async () => {
    const w = new World({ b: 2 })
    const { read } = reading(w, SWAPPED)
    const all = [...w.rename('a', 'b', 1), ...w.rename('b', 'a', 2)]
    expect(await read(w.event(IN_CREATE, 'a'), ...all.slice(0, 2))).toEqual(['create file a'])
    expect(w.tree.entriesOf(w.root).get('a')).toEqual(file(0))
    expect(await read(...all.slice(2))).toEqual([EXCHANGE])
  })

  test('of directories: what is told of them and below them meanwhile keeps its order', async () => {
    const w = new World({ 'd/': 1, 'e/': 2, 'd/x': 3 })
    const { read } = reading(w, { d: folder(2), e: folder(1) })
    const [from, to] = w.rename('d', 'e', 1, IN_ISDIR)
    const [from2, to2] = w.rename('e', 'd', 2, IN_ISDIR)
    const write = w.event(IN_MODIFY, 'd/x')
    expect(await read(write, from, to, write)).toEqual(['modify file d/x'])
    const told = ['exchange directory d directory e', 'modify file e/x']
    expect(await read(write, from2, to2, write)).toEqual(told)
  })

  test('of which one half lies outside: two reads, as one', async () => {
    const w = new World({ a: 1 })
    const { read } = reading(w, { a: file(9) })
    expect(await read(w.event(IN_MOVED_FROM, 'a', 1))).toEqual([])
    expect(await read(w.rename('x', 'a', 2)[1])).toEqual(['delete file a', 'create file a'])
  })
})

describe('what was no exchange', () => {
  test('a file that is saved by a rename over it is told at once', async () => {
    const w = new World({ tmp: 1, b: 2 })
    const { read, events } = reading(w, { tmp: null, b: file(1) })
    expect(await read(...w.rename('tmp', 'b'))).toEqual(['rename file tmp b replaced'])
    expect(events.holdsBack).toBe(false)
  })

  test('what came to the old name is told by the next read, and ends the waiting', async () => {
    const w = new World({ tmp: 1, b: 2 })
    const { read } = reading(w, { tmp: file(3), b: file(1) })
    expect(await read(...w.rename('tmp', 'b'))).toEqual([])
    expect(await read(w.event(IN_CREATE, 'tmp'))).toEqual(['rename file tmp b replaced', 'create file tmp'])
  })

  test('a mark ends it: what is queued before it is told by then', async () => {
    const w = new World({ a: 1, b: 2, x: 3 })
    const { read, mark, events } = reading(w, { ...SWAPPED, x: file(3) })
    const write = w.event(IN_MODIFY, 'x')
    expect(await read(write, ...w.rename('a', 'b'), write)).toEqual(['modify file x'])
    expect(await mark()).toEqual(['rename file a b replaced', 'modify file x'])
    expect([await mark(), events.holdsBack]).toEqual([[], false])
  })

  test('an overflow ends it: the rescan will tell', async () => {
    const w = new World({ a: 1, b: 2 })
    const { read, mark, events } = reading(w, SWAPPED)
    expect(await read(...w.rename('a', 'b'))).toEqual([])
    events.onOverflow()
    expect([await mark(), w.believed]).toEqual([[], ['a', 'b']])
  })

  test('it is told before its root is lost', async () => {
    const w = new World({ a: 1, b: 2 })
    const { read, lost } = reading(w, SWAPPED)
    expect(await read(...w.rename('a', 'b'))).toEqual([])
    expect(await read([w.root.wd, IN_DELETE_SELF, ''])).toEqual(['rename file a b replaced'])
    expect(lost).toEqual(['1 changes before /t is lost'])
  })
})
