import { describe, expect, test } from 'vitest'
import { IN_CREATE, IN_DELETE, IN_ISDIR, IN_MODIFY, IN_MOVED_FROM, IN_MOVED_TO } from '../../../src/index.ts'
import { findExchange, type WayBack } from '../../../src/watch/events/exchange.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { entry, file, folder } from '../tree/believed.ts'
import { type Event, viewOf } from './batches.ts'

const rename = (from: string, to: string, cookie: number, flags = 0): Event[] => [
  [1, IN_MOVED_FROM | flags, from, cookie],
  [1, IN_MOVED_TO | flags, to, cookie],
]

// OVER is a rename of a over b. SWAP is an exchange, which has the same events as a rename over b and back.
const OVER = rename('a', 'b', 1)
const SWAP = [...OVER, ...rename('b', 'a', 2)]
const BOTH = { leaving: 2, arriving: 3, mask: IN_MOVED_FROM | IN_MOVED_TO }

/**
 * Returns the exchange that is found when `came` takes the place of `displaced` with the second event. A name
 * that is missing in `now` could not be looked at.
 */
function find(
  events: readonly Event[],
  now: Record<string, Entry | null> = {},
  came = file(1),
  displaced = file(2),
): WayBack | undefined {
  const view = viewOf(events, (name) => now[name])
  return findExchange(view, 1, came, displaced)
}

describe('no exchange', () => {
  test.each<[string, Event[]]>([
    ['nothing follows', OVER],
    ['what arrived goes to a third name', [...OVER, ...rename('b', 'c', 2)]],
    ['what arrived goes out of the tree', [...OVER, [1, IN_MOVED_FROM, 'b', 2]]],
    [
      'what arrived goes, and another comes to where it was',
      [...OVER, [1, IN_MOVED_FROM, 'b', 2], [1, IN_MOVED_TO, 'a', 3]],
    ],
    ['its old name is taken first', [...OVER, [1, IN_CREATE, 'a'], ...rename('b', 'a', 2)]],
    ['what arrived is written over first', [...OVER, ...rename('c', 'b', 3), ...rename('b', 'a', 2)]],
    ['another is made between', [...OVER, [1, IN_CREATE, 'c'], ...rename('b', 'a', 2)]],
    ['another is removed between', [...OVER, [1, IN_DELETE, 'c'], ...rename('b', 'a', 2)]],
    ['another takes the same way', [...OVER, ...rename('a', 'b', 2)]],
  ])('%s', (_, events) => {
    expect(find(events, { a: file(2), b: file(1) })).toBeUndefined()
  })

  test('the first half was read before, with another batch', () => {
    const events: Event[] = [[1, IN_CREATE, 'c'], ...SWAP.slice(1)]
    expect(find(events, { a: file(2), b: file(1) })).toBeUndefined()
  })

  test.each<[string, Record<string, Entry | null>]>([
    ['nothing is left at the second name', { a: file(1), b: null }],
    ['by what is at the first', { a: file(1), b: file(3) }],
    ['by the first, of which the second is another name by now', { a: file(1), b: file(1) }],
    ['by what is at the second, which came later', { a: null, b: file(3) }],
    ['of another kind', { a: null, b: entry('symlink', 1) }],
    ['nobody could look', {}],
  ])('over and back: %s', (_, now) => {
    expect(find(SWAP, now)).toBeUndefined()
  })

  test('over and back, and another is made at the second name, which was left empty', () => {
    expect(find([...SWAP, [1, IN_CREATE, 'b']], { a: file(4), b: file(3) })).toBeUndefined()
  })

  test('over and back, and another comes, to which the number fell that was freed', () => {
    expect(find([...SWAP, [1, IN_MOVED_TO, 'a', 3]], { a: file(2), b: null })).toBeUndefined()
  })
})

// A look ahead of the events may have shown one file at both names.
describe('what is believed of both names has one inode number', () => {
  test.each<[string, Record<string, Entry | null>, WayBack | undefined]>([
    ['over and back', { a: file(1), b: null }, undefined],
    ['swapped', { a: file(2), b: file(1) }, BOTH],
    ['nobody could look', {}, undefined],
  ])('%s', (_, now, expected) => {
    expect(find(SWAP, now, file(1), file(1))).toEqual(expected)
  })
})

describe('an exchange', () => {
  test.each<[string, Record<string, Entry | null>, Entry?]>([
    ['by what is at both names', { a: file(2), b: file(1) }],
    ['by the first, where the second was replaced unseen', { a: file(2), b: file(3) }],
    ['by the second, where nobody could look at the first', { b: file(1) }],
    ['by the second, where the first was replaced unseen', { a: file(3), b: file(1) }],
    ['by what was displaced, which has been moved back since', { a: null, b: file(2) }],
    ['by its kind alone, where its number is not known', { b: file(1) }, file(0)],
    ['by its kind alone, where no number is', { a: file(0), b: file(0) }, file(0)],
  ])('%s', (_, now, came) => {
    expect(find(SWAP, now, came)).toEqual(BOTH)
  })

  test.each<[string, Entry, Entry]>([
    ['a file and a directory', file(1), folder(2)],
    ['a directory and a file', folder(1), file(2)],
  ])('of %s: no rename puts one over the other', (_, came, displaced) => {
    expect(find(SWAP, {}, came, displaced)).toEqual(BOTH)
  })

  test('its mask is that of both halves', () => {
    const events = [...OVER, ...rename('b', 'a', 2, IN_ISDIR)]
    expect(find(events, {}, file(1), folder(2))?.mask).toBe(BOTH.mask | IN_ISDIR)
  })

  test.each<[string, Event]>([
    ['removed', [1, IN_DELETE, 'b']],
    ['moved on', [1, IN_MOVED_FROM, 'b', 3]],
  ])('whose second name is %s: over and back would have left nothing there', (_, then) => {
    expect(find([...SWAP, then], { a: null, b: null })).toEqual(BOTH)
  })

  test('and back: both are there', () => {
    const events = [...SWAP, ...rename('a', 'b', 3), ...rename('b', 'a', 4)]
    expect(find(events, { a: file(1), b: file(2) })).toEqual(BOTH)
    expect(find(events, { a: file(1), b: null })).toBeUndefined()
    expect(find(events, { a: null, b: file(3) })).toBeUndefined()
  })

  test('whose halves have writes between them, and what is told of other directories', () => {
    const between = (i: number): Event => (i === 2 ? [1, IN_MODIFY, 'other'] : [2, IN_CREATE, `other ${i}`])
    const events = SWAP.flatMap((event, i) => (i > 0 ? [event, between(i)] : [event]))
    expect(find(events, { a: file(2), b: file(1) })).toEqual({ ...BOTH, leaving: 3, arriving: 5 })
  })

  test('across directories: a name is that of a watch', () => {
    const events: Event[] = [
      [1, IN_MOVED_FROM, 'x', 1],
      [2, IN_MOVED_TO, 'x', 1],
      [2, IN_MOVED_FROM, 'x', 2],
      [1, IN_MOVED_TO, 'x', 2],
    ]
    const findBy = (look: (wd: number) => Entry | undefined) =>
      findExchange(
        viewOf(events, (_, wd) => look(wd)),
        1,
        file(1),
        file(2),
      )
    const look = (wd: number) => (wd === 1 ? file(2) : file(1))
    expect(findBy(look)).toEqual(BOTH)
    expect(findBy((wd) => (wd === 2 ? file(1) : undefined))).toEqual(BOTH)
    expect(findBy((wd) => look(3 - wd))).toBeUndefined()
  })
})
