import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change, Kind } from '../../../src/index.ts'
import { CLOCK_SLACK_MS } from '../../../src/watch/clock.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { Replay } from '../../scripts/replay.ts'
import { type RecordSpec, walkOf } from '../scan/records.ts'
import { inWords } from '../support.ts'
import { file, seen } from '../tree/believed.ts'
import { Walked } from './reconciling.ts'

type Names = Record<string, Entry>

/** Returns the changes between two listings of a directory, without anything watched below it. */
function changesOf(before: Names, after: Names, since = 0, isPolled = true): Change[] {
  const walked = new Walked(isPolled)
  walked.rules.recursive = false
  const find = (names: Names, options = {}) => {
    const [listing] = walkOf(new Map(Object.entries(names)), isPolled ? 0 : 1000)
    return walked.take([listing as RecordSpec], [walked.root], options)
  }
  find(before)
  return find(after, { since })
}

const told = (...[before, after, since, isPolled]: Parameters<typeof changesOf>) =>
  changesOf(before, after, since, isPolled).map((change) => inWords(change, '/t'))

const [one, two, three] = [seen('file', 1), seen('file', 2), seen('file', 3)]
const directory = seen('directory', 4)

describe('where events were lost, and times are kept', () => {
  const [young, old] = [seen('file', 1, { ctimeMs: 500 }), seen('file', 2, { ctimeMs: 400 })]

  /** Returns the changes of a rescan that finds all as before, but for another mode of `b`. */
  function rescanned(toldUntil: number): string[] {
    const walked = new Walked(true)
    const find = (names: Names, options = {}) => {
      const [listing] = walkOf(new Map(Object.entries(names)), 0)
      return walked.take([listing as RecordSpec], [walked.root], options)
    }
    find({ a: young, b: old })
    walked.mount.toldUntil = toldUntil
    const after = { a: young, b: seen('file', 2, { ctimeMs: 600, ctime: 600, mode: 0o600 }) }
    return find(after, { source: 'rescan', since: 450 }).map((change) => inWords(change, '/t'))
  }

  test('what was changed since all had been told may have been changed again within the tick of a clock', () => {
    expect(rescanned(0)).toEqual(['modify file a', 'attrib file b'])
  })

  test('but not what a poll has come behind', () => {
    expect(rescanned(500 + CLOCK_SLACK_MS + 1)).toEqual(['attrib file b'])
  })
})

describe('the names of one directory', () => {
  test.each<[string, Names, Names, string[]]>([
    ['nothing', { a: one }, { a: one }, []],
    ['create and delete', { a: one }, { b: two }, ['delete file a', 'create file b']],
    ['rename', { a: one }, { b: seen('file', 1, { ctime: 9 }) }, ['rename file a b']],
    ['rename over', { a: one, b: two }, { b: one }, ['rename file a b replaced']],
    [
      'rename over, and the name taken again',
      { a: one, b: two },
      { a: three, b: one },
      ['rename file a b replaced', 'create file a'],
    ],
    ['a backup', { a: one }, { a: two, b: one }, ['rename file a b', 'create file a']],
    [
      'a chain: the way is cleared first',
      { a: one, b: two },
      { b: one, c: two },
      ['rename file b c', 'rename file a b'],
    ],
    [
      'a longer chain, listed the other way',
      { c: three, b: two, a: one },
      { d: three, c: two, b: one },
      ['rename file c d', 'rename file b c', 'rename file a b'],
    ],
    [
      'a chain onto what was there',
      { a: one, b: two, c: three },
      { b: one, c: two },
      ['rename file b c replaced', 'rename file a b'],
    ],
    ['an exchange', { a: one, b: two }, { a: two, b: one }, ['exchange file a file b']],
    [
      'an exchange of two kinds',
      { a: one, b: directory },
      { a: directory, b: one },
      ['exchange directory a file b'],
    ],
    [
      'a circle of three',
      { a: one, b: two, c: three },
      { a: three, b: one, c: two },
      ['exchange file b file c', 'exchange file a file b'],
    ],
    [
      'written and renamed is both',
      { a: one },
      { b: seen('file', 1, { mtime: 9 }) },
      ['rename file a b', 'modify file b'],
    ],
    [
      'renamed, with another owner',
      { a: one },
      { b: seen('file', 1, { uid: 9 }) },
      ['rename file a b', 'attrib file b'],
    ],
    [
      'a freed inode number is no rename',
      { a: one },
      { b: seen('file', 1, { btimeMs: 9 }) },
      ['delete file a', 'create file b'],
    ],
    [
      'hard links that both moved',
      { a: one, b: one },
      { c: one, d: one },
      ['rename file b c', 'rename file a d'],
    ],
    [
      'a second name',
      { a: one },
      { a: seen('file', 1, { nlink: 2 }), b: seen('file', 1, { nlink: 2 }) },
      ['attrib file a', 'create file b'],
    ],
    ['another kind', { a: one }, { a: directory }, ['delete file a', 'create directory a']],
    ['replaced by a new file', { a: one }, { a: two }, ['modify file a']],
    [
      'what was never seen is not renamed',
      { a: file(0) },
      { b: file(0) },
      ['delete file a', 'create file b'],
    ],
    ['what was never seen has not moved to its own name', { a: file(0) }, { a: file(0) }, []],
  ])('%s', (title, before, after, expected) => {
    const changes = told(before, after)
    expect(changes.toSorted()).toEqual(expected.toSorted())
    // Circles have no fixed order, nor have a create and a delete.
    const renames = (all: string[]) => all.filter((each) => each.startsWith('rename'))
    if (!/exchange|circle|hard links/.test(title)) expect(renames(changes)).toEqual(renames(expected))
  })

  test('where only inode numbers were known, what is older than that has moved', () => {
    const old = seen('file', 1, { btimeMs: 999 })
    const young = seen('file', 1, { btimeMs: 1000 })
    expect(told({ a: file(1) }, { b: old }, 1000, false)).toEqual(['rename file a b', 'modify file b'])
    expect(told({ a: file(1) }, { b: young }, 1000, false)).toEqual(['create file b', 'delete file a'])
  })

  test('any arrangement replays to any other', () => {
    const kinds: Kind[] = ['file', 'directory', 'symlink', 'other']
    const files = Array.from({ length: 7 }, (_, i) => seen(kinds[i % 4] as Kind, i + 1))
    const arrangement = fc
      .tuple(fc.shuffledSubarray([...'abcdefg']), fc.shuffledSubarray(files, { minLength: 7 }), fc.nat(20))
      .map(([names, which, links]): Names => {
        // Now and then two names are links to one file.
        const at = (i: number) => which[links === i ? 0 : i] as Entry
        return Object.fromEntries(names.map((name, i) => [name, at(i)]))
      })
    const kindsOf = (names: Names) =>
      new Map(Object.entries(names).map(([name, { kind }]) => [`/t/${name}`, kind]))
    fc.assert(
      fc.property(arrangement, arrangement, (before, after) => {
        const replay = new Replay(kindsOf(before), ['/t'])
        replay.apply(changesOf(before, after))
        expect(replay.complaints()).toEqual([])
        expect(replay.tree).toEqual(kindsOf(after))
      }),
      { numRuns: 2000 },
    )
  })
})
