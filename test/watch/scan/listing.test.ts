import { expect, test } from 'vitest'
import type { Entry, LookedAt } from '../../../src/watch/scan/entry.ts'
import { listingsIn } from '../../../src/watch/scan/listing.ts'
import { recordsOf } from './records.ts'

const file = (ino: number): Entry => ({ kind: 'file', ino })
const folder = (ino: number): Entry => ({ kind: 'directory', ino })

/** Returns the answer for each name that was asked for, where the walker has found these entries. */
function answered(asked: readonly string[], found: ReadonlyArray<[string, Entry]>): LookedAt['seen'][] {
  const names = asked.map((name): LookedAt => ({ name, seen: undefined }))
  const [listing] = listingsIn(recordsOf([{ id: 0, name: '', entries: found }]))
  listing?.answer(names)
  return names.map(({ seen }) => seen && { kind: seen.kind, ino: seen.ino })
}

test('each name is told what is there, files and directories by turns', () => {
  const found: Array<[string, Entry]> = [
    ['a', file(1)],
    ['b', folder(2)],
    ['gr\u00fc', file(3)],
    ['d', folder(4)],
    ['\udcff', file(5)],
  ]
  const names = found.map(([name]) => name)
  const entries = found.map(([, entry]) => entry)
  expect(answered(names, found)).toEqual(entries)
  for (const [i] of names.entries()) {
    const rest = found.filter((_, j) => j !== i)
    expect(answered(names, rest)).toEqual(entries.map((entry, j) => (j === i ? null : entry)))
  }
  expect(answered(names, [])).toEqual(names.map(() => null))
})

test('an answer in another order, or of what was not asked for, is none', () => {
  expect(
    answered(
      ['a', 'b'],
      [
        ['b', file(2)],
        ['a', file(1)],
      ],
    ),
  ).toEqual([undefined, undefined])
  expect(
    answered(
      ['a', 'b'],
      [
        ['a', file(1)],
        ['c', folder(2)],
      ],
    ),
  ).toEqual([undefined, undefined])
})
