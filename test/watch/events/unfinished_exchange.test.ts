import { describe, expect, test } from 'vitest'
import {
  IN_CREATE,
  IN_DELETE,
  IN_DELETE_SELF,
  IN_MODIFY,
  IN_MOVE_SELF,
  IN_MOVED_FROM,
  IN_MOVED_TO,
} from '../../../src/index.ts'
import { findUnfinishedExchange } from '../../../src/watch/events/unfinished_exchange.ts'
import { type Event, viewOf } from './batches.ts'

const rename = (from: string, to: string, cookie: number): [Event, Event] => [
  [1, IN_MOVED_FROM, from, cookie],
  [1, IN_MOVED_TO, to, cookie],
]

// What begins like an exchange, and is one if the way back follows.
const OVER = rename('a', 'b', 1)
const BACK = rename('b', 'a', 2)

/** `gone`: where a look has found nothing; of other names it knows nothing, or has found something. `free`: names that nothing is believed to have. */
function find(events: readonly Event[], gone: string[] = [], free: string[] = []): number | undefined {
  const view = viewOf(events)
  return findUnfinishedExchange(view, {
    mayBeThere: (i) => !gone.includes(view.name(i)),
    isBelieved: (_, name) => !free.includes(name),
  })
}

const ELSEWHERE: Event = [2, IN_CREATE, 'x']
const WRITE: Event = [1, IN_MODIFY, 'x']

describe('it may be told to its end by the next read', () => {
  test.each<[string, Event[]]>([
    ['behind its first event', OVER.slice(0, 1)],
    ['behind its first rename', OVER],
    ['behind the first half of its second rename', [...OVER, ...BACK.slice(0, 1)]],
    [
      'with writes, and events of other directories, in between',
      [OVER[0], WRITE, ELSEWHERE, OVER[1], WRITE, ELSEWHERE],
    ],
    ['and what moved has told of itself', [...OVER, [3, IN_MOVE_SELF, '']]],
  ])('%s', (_, events) => {
    expect(find(events)).toBe(0)
    expect(find([ELSEWHERE, WRITE, ...events])).toBe(2)
  })

  test('where the name was taken by an event just before', () => {
    expect(find([[1, IN_CREATE, 'b'], ...OVER], [], ['b'])).toBe(1)
  })

  test('between two directories', () => {
    const over: Event[] = [
      [1, IN_MOVED_FROM, 'a', 1],
      [2, IN_MOVED_TO, 'a', 1],
    ]
    expect(find(over)).toBe(0)
    expect(find([...over, [2, IN_MOVED_FROM, 'a', 2]])).toBe(0)
    expect(find([...over, [2, IN_CREATE, 'x']])).toBeUndefined()
    expect(find([...over, [1, IN_CREATE, 'x']])).toBeUndefined()
  })

  test('behind a whole one of the same names', () => {
    expect(find([...OVER, ...BACK, ...rename('a', 'b', 3)])).toBe(4)
  })

  test('two at once: from the first on', () => {
    const other: Event[] = [
      [2, IN_MOVED_FROM, 'c', 3],
      [2, IN_MOVED_TO, 'd', 3],
    ]
    expect(find([ELSEWHERE, ...OVER, ...other])).toBe(1)
  })
})

describe('nothing waits', () => {
  test.each<[string, Event[]]>([
    ['behind a whole one', [...OVER, ...BACK]],
    ['behind two', [...OVER, ...BACK, ...rename('a', 'b', 3), ...rename('b', 'a', 4)]],
    ['another is made behind it', [...OVER, [1, IN_CREATE, 'x']]],
    ['another is removed behind it', [OVER[0], [1, IN_DELETE, 'x']]],
    ['its old name is taken behind it', [...OVER, [1, IN_CREATE, 'a']]],
    ['what arrived is removed', [...OVER, [1, IN_DELETE, 'b']]],
    ['its directory is gone', [...OVER, [1, IN_DELETE_SELF, '']]],
    ['it lands on a name that was freed just before', [[1, IN_DELETE, 'b'], ...OVER]],
    ['nothing has left a name', [WRITE, [1, IN_MOVED_TO, 'b', 1]]],
  ])('%s', (_, events) => {
    expect(find(events)).toBeUndefined()
  })

  test('a rename over another that has left nothing behind: so files are saved', () => {
    expect(find(OVER, ['a'])).toBeUndefined()
  })

  test('what has left has left nothing behind', () => {
    expect(find(OVER.slice(0, 1), ['a'])).toBeUndefined()
  })

  test('a rename to a free name', () => {
    expect(find(OVER, [], ['b'])).toBeUndefined()
    expect(find([...OVER, ...rename('b', 'c', 2)], [], ['c'])).toBeUndefined()
  })
})
