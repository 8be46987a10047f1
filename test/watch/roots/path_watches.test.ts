import { describe, expect, test } from 'vitest'
import { IN_ATTRIB, IN_CREATE, IN_DELETE, IN_IGNORED, IN_MODIFY, IN_MOVE_SELF } from '../../../src/index.ts'
import { type Hint, PathWatches, type WatchedName } from '../../../src/watch/roots/path_watches.ts'
import { batchOf, type Event } from '../events/batches.ts'
import { type Owner, setWatches } from './owner.ts'

/** An index, and owners by their names. */
function indexed() {
  const index = new PathWatches()
  const owners = new Map<string, Owner>()
  const ownerOf = (name: string) => {
    const owner = owners.get(name) ?? { watched: [] }
    owners.set(name, owner)
    return owner
  }
  return {
    has: (wd: number) => index.has(wd),
    set: (name: string, names: WatchedName[], own = 0) => setWatches(index, ownerOf(name), names, own),
    collect: (events: Event[], start = 0, end = events.length): Record<string, Hint> => {
      const hints = index.collect(batchOf(events), start, end)
      return Object.fromEntries(
        [...owners].flatMap(([name, owner]) => {
          const hint = hints.get(owner)
          return hint === undefined ? [] : [[name, hint] as const]
        }),
      )
    },
  }
}

type Indexed = ReturnType<typeof indexed>

const collect = (watches: Indexed, events: Event[]) => watches.collect(events)

/** '1/x': the name x in the directory with the watch 1. */
const ways = (...entries: string[]): WatchedName[] =>
  entries.map((entry) => {
    const [wd, name = ''] = entry.split('/')
    return { wd: Number(wd), name }
  })
const present = (watches: Indexed) => [1, 2, 3, 4, 5].filter((wd) => watches.has(wd))

describe('set', () => {
  test('answers the watches that nobody has any more', () => {
    const watches = indexed()
    expect(watches.set('a', ways('1/x', '2/y'), 3)).toEqual([])
    expect(watches.set('b', ways('2/y', '4/z'))).toEqual([])
    expect(watches.set('a', ways('1/x'), 5)).toEqual([3])
    expect(present(watches)).toEqual([1, 2, 4, 5])
    expect(watches.set('b', [])).toEqual([2, 4])
    expect(watches.set('a', [])).toEqual([1, 5])
    expect(present(watches)).toEqual([])
  })

  test('a watch goes with the last of its names', () => {
    const watches = indexed()
    watches.set('a', ways('1/x', '1/y'))
    watches.set('b', ways('1/y'))
    expect(watches.set('a', ways('1/x'))).toEqual([])
    expect(watches.set('a', [])).toEqual([])
    expect(watches.set('b', [])).toEqual([1])
  })

  test('a way that becomes its own watch, and the other way round, stays', () => {
    const watches = indexed()
    watches.set('a', ways('1/x'), 2)
    expect(watches.set('a', ways('2/x'), 1)).toEqual([])
    expect(present(watches)).toEqual([1, 2])
  })

  test('a way that is its own watch too goes once', () => {
    const watches = indexed()
    watches.set('a', ways('1/x', '1/x'), 1)
    expect(watches.set('a', [])).toEqual([1])
  })

  test('an owner without watches that gets none', () => {
    expect(indexed().set('a', [])).toEqual([])
  })
})

describe('collect', () => {
  test('those have an event whose path leads over its name, of a way if it counts', () => {
    const watches = indexed()
    watches.set('a', ways('1/x', '2/y'), 3)
    watches.set('b', ways('2/y'))
    watches.set('c', ways('1/other', '2/other'))
    const events: Event[] = [
      [1, IN_CREATE, 'x'],
      [1, IN_CREATE, 'neighbour'],
      [1, IN_MODIFY, 'x'],
      [2, IN_CREATE, 'y'],
      [3, IN_ATTRIB, ''],
      [4, IN_CREATE, 'z'],
    ]
    expect(collect(watches, events)).toEqual({
      a: { all: IN_CREATE | IN_ATTRIB, own: IN_ATTRIB },
      b: { all: IN_CREATE, own: 0 },
    })
  })

  test('what happens to a directory itself concerns all whose path leads through it', () => {
    const watches = indexed()
    watches.set('a', ways('1/x'))
    watches.set('b', ways('1/y'))
    watches.set('c', ways('2/x'))
    const hint = { all: IN_MOVE_SELF, own: 0 }
    expect(collect(watches, [[1, IN_MOVE_SELF, '']])).toEqual({ a: hint, b: hint })
    expect(collect(watches, [[1, IN_ATTRIB, '']])).toEqual({})
  })

  test('only a part of a batch', () => {
    const watches = indexed()
    watches.set('a', ways('1/x'))
    const events: Event[] = [
      [1, IN_CREATE, 'x'],
      [1, IN_DELETE, 'x'],
      [1, IN_CREATE, 'x'],
    ]
    expect(watches.collect(events, 1, 2)).toEqual({ a: { all: IN_DELETE, own: 0 } })
  })

  test('a watch that the kernel has removed is nobody’s, and its number may be another’s', () => {
    const watches = indexed()
    watches.set('a', ways('1/x'), 2)
    watches.set('b', ways('1/y'))
    expect(
      collect(watches, [
        [1, IN_IGNORED, ''],
        [2, IN_IGNORED, ''],
      ]),
    ).toEqual({ a: { all: IN_IGNORED, own: IN_IGNORED }, b: { all: IN_IGNORED, own: 0 } })
    expect(present(watches)).toEqual([])
    expect(collect(watches, [[1, IN_CREATE, 'x']])).toEqual({})
    expect(watches.set('a', ways('5/x'))).toEqual([])
  })
})
