import { describe, expect, test } from 'vitest'
import { IN_ATTRIB, IN_CREATE, IN_IGNORED, IN_MODIFY } from '../../../src/index.ts'
import { PathWatches } from '../../../src/watch/roots/path_watches.ts'
import { batchOf, type Event } from '../events/batches.ts'

const collect = (hints: PathWatches<string>, events: Event[], mask = IN_CREATE) =>
  Object.fromEntries(hints.collect(batchOf(events), 0, events.length, mask))

describe('set', () => {
  test('answers the watches that nobody has any more', () => {
    const hints = new PathWatches<string>()
    expect(hints.set('a', [1, 2], 3)).toEqual([])
    expect(hints.set('b', [2, 4])).toEqual([])
    expect(hints.set('a', [1], 5)).toEqual([3])
    expect([1, 2, 3, 4, 5].filter((wd) => hints.has(wd))).toEqual([1, 2, 4, 5])
    expect(hints.set('b', [])).toEqual([2, 4])
    expect(hints.set('a', [])).toEqual([1, 5])
    expect([1, 2, 3, 4, 5].filter((wd) => hints.has(wd))).toEqual([])
  })

  test('a way that becomes its own watch, and the other way round, stays', () => {
    const hints = new PathWatches<string>()
    hints.set('a', [1], 2)
    expect(hints.set('a', [2], 1)).toEqual([])
    expect([hints.has(1), hints.has(2)]).toEqual([true, true])
  })

  test('a way that is its own watch too goes once', () => {
    const hints = new PathWatches<string>()
    hints.set('a', [1, 1], 1)
    expect(hints.set('a', [])).toEqual([1])
  })

  test('an owner without watches that gets none', () => {
    expect(new PathWatches<string>().set('a', [])).toEqual([])
  })
})

describe('collect', () => {
  test('every owner of a watch has its events, of a way those that count', () => {
    const hints = new PathWatches<string>()
    hints.set('a', [1, 2], 3)
    hints.set('b', [2])
    const events: Event[] = [
      [1, IN_CREATE, 'x'],
      [1, IN_MODIFY, 'x'],
      [2, IN_CREATE, 'y'],
      [3, IN_ATTRIB, ''],
      [4, IN_CREATE, 'z'],
    ]
    expect(collect(hints, events)).toEqual({
      a: { all: IN_CREATE | IN_ATTRIB, own: IN_ATTRIB },
      b: { all: IN_CREATE, own: 0 },
    })
  })

  test('only a part of a batch', () => {
    const hints = new PathWatches<string>()
    hints.set('a', [1])
    const batch = batchOf([
      [1, IN_CREATE, 'x'],
      [1, IN_ATTRIB, 'x'],
      [1, IN_MODIFY, 'x'],
    ])
    expect(hints.collect(batch, 1, 2, -1).get('a')).toEqual({ all: IN_ATTRIB, own: 0 })
  })

  test('a watch that the kernel has removed is nobody’s, and its number may be another’s', () => {
    const hints = new PathWatches<string>()
    hints.set('a', [1], 2)
    hints.set('b', [1])
    expect(
      collect(hints, [
        [1, IN_IGNORED, ''],
        [2, IN_IGNORED, ''],
      ]),
    ).toEqual({
      a: { all: IN_IGNORED, own: IN_IGNORED },
    })
    expect([hints.has(1), hints.has(2)]).toEqual([false, false])
    expect(collect(hints, [[1, IN_CREATE, 'x']])).toEqual({})
    expect(hints.set('a', [5])).toEqual([])
  })
})
