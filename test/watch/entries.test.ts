import { describe, expect, test } from 'vitest'
import type { Kind } from '../../src/index.ts'
import { alteration, difference, type Entries, type Entry, vanished } from '../../src/watch/entries.ts'
import { Replay, randomFrom, story } from './support.ts'

function entry(ino: number, more: Partial<Entry> = {}): Entry {
  const kind: Kind = more.kind ?? 'file'
  return { ...vanished(kind), ino: BigInt(ino), mode: 0o644n, nlink: 1n, mtimeNs: BigInt(ino), ...more }
}

const listing = (entries: Record<string, Entry>): Entries => new Map(Object.entries(entries))
const told = (before: Record<string, Entry>, after: Record<string, Entry>) =>
  story(
    difference(listing(before), listing(after), (name) => `/r/${name}`, 'poll'),
    '/r',
  )

describe('alteration', () => {
  const file = entry(1, { size: 5n })
  const directory = entry(1, { kind: 'directory' })
  test.each<[string, Entry, Partial<Entry>, ReturnType<typeof alteration>]>([
    ['nothing', file, {}, undefined],
    ['the kind', file, { kind: 'symlink' }, 'replace'],
    ['the inode', file, { ino: 2n }, 'modify'],
    ['the size', file, { size: 6n }, 'modify'],
    ['a later mtime', file, { mtimeNs: 9n }, 'modify'],
    ['an earlier mtime', file, { mtimeNs: 0n }, 'modify'],
    ['only the ctime', file, { ctimeNs: 9n }, 'modify'],
    ['the mode, and so the ctime', file, { mode: 0o600n, ctimeNs: 9n }, 'attrib'],
    ['the owner', file, { uid: 7n }, 'attrib'],
    ['the group', file, { gid: 7n }, 'attrib'],
    ['the links', file, { nlink: 2n }, 'attrib'],
    ['a directory by its entries', directory, { size: 9n, mtimeNs: 9n, ctimeNs: 9n, nlink: 3n }, undefined],
    ['the mode of a directory', directory, { mode: 0o700n }, 'attrib'],
    ['the inode of a directory', directory, { ino: 2n }, 'replace'],
  ])('%s', (_, before, changed, expected) => {
    expect(alteration(before, { ...before, ...changed })).toBe(expected)
  })
})

describe('difference', () => {
  const [one, two, three] = [entry(1), entry(2), entry(3)]
  const directory = entry(4, { kind: 'directory' })
  test.each<[string, Record<string, Entry>, Record<string, Entry>, string[]]>([
    ['nothing', { a: one }, { a: one }, []],
    ['create and delete', { a: one }, { b: two }, ['delete file a', 'create file b']],
    ['rename', { a: one }, { b: { ...one, ctimeNs: 9n } }, ['rename file a b']],
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
    ['an exchange', { a: one, b: two }, { a: two, b: one }, ['rename file a b', 'rename file b a']],
    [
      'an exchange of two kinds',
      { a: one, b: directory },
      { a: directory, b: one },
      ['rename file a b', 'rename directory b a'],
    ],
    [
      'written and renamed is no rename',
      { a: one },
      { b: { ...one, mtimeNs: 9n } },
      ['delete file a', 'create file b'],
    ],
    [
      'a freed inode number is no rename',
      { a: one },
      { b: { ...one, size: 9n } },
      ['delete file a', 'create file b'],
    ],
    [
      'a rename with another owner is no rename: an attrib would be lost',
      { a: one },
      { b: { ...one, uid: 9n } },
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
      { a: { ...one, nlink: 2n }, b: { ...one, nlink: 2n } },
      ['attrib file a', 'create file b'],
    ],
    ['another kind', { a: one }, { a: directory }, ['delete file a', 'create directory a']],
    ['replaced by a new file', { a: one }, { a: two }, ['modify file a']],
    [
      'what was never seen is not renamed',
      { a: vanished('file') },
      { b: vanished('file') },
      ['delete file a', 'create file b'],
    ],
  ])('%s', (title, before, after, expected) => {
    const changes = told(before, after)
    expect(changes.toSorted()).toEqual(expected.toSorted())
    // Circles have no order of their own.
    if (!title.includes('exchange') && !title.includes('hard links')) expect(changes).toEqual(expected)
  })

  test('what was never seen has not moved, not even to its own name', () => {
    expect(told({ a: vanished('file') }, { a: vanished('file') })).toEqual([])
  })

  test('any permutation, with losses and newcomers, replays to what there is', () => {
    const kinds: Kind[] = ['file', 'directory', 'symlink']
    const names = [...'abcdef']
    for (let seed = 0; seed < 2000; seed++) {
      const random = randomFrom(seed)
      const shuffled = () => names.toSorted(() => random(3) - 1).slice(0, random(7))
      const files = names.map((_, i) => entry(i + 1, { kind: kinds[i % 3] as Kind }))
      const arranged = (from: number): Entries =>
        new Map(shuffled().map((name, i) => [name, files[(i * 5 + from) % files.length] as Entry]))
      const [before, after] = [arranged(0), arranged(random(6))]
      const replay = new Replay()
      for (const [name, { kind }] of before) replay.names.set(`/${name}`, kind)
      replay.apply(difference(before, after, (name) => `/${name}`, 'poll'))
      const expected = new Map([...after].map(([name, { kind }]) => [`/${name}`, kind]))
      expect(replay.names, `seed ${seed}`).toEqual(expected)
      expect(replay.isWhole, `seed ${seed}`).toBe(true)
    }
  })
})
