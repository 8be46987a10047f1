import { describe, expect, test } from 'vitest'
import {
  alteration,
  alterationOfMoved,
  type Entry,
  mayBeChangedSince,
  mayBeSame,
  moved,
  sameFile,
} from '../../../src/watch/scan/entry.ts'
import { file, folder, seen } from '../tree/believed.ts'

describe('alteration, between two looks', () => {
  const directory = seen('directory', 1)
  test.each<[string, Entry, Entry, ReturnType<typeof alteration>]>([
    ['nothing', seen('file', 1), seen('file', 1), undefined],
    ['the kind', seen('file', 1), seen('symlink', 1), 'replace'],
    ['the inode', seen('file', 1), seen('file', 2), 'modify'],
    ['the size', seen('file', 1), seen('file', 1, { size: 6 }), 'modify'],
    ['a later mtime', seen('file', 1), seen('file', 1, { mtime: 9000 }), 'modify'],
    ['an earlier mtime', seen('file', 1), seen('file', 1, { mtime: 1 }), 'modify'],
    ['only the ctime', seen('file', 1), seen('file', 1, { ctime: 9000 }), 'modify'],
    ['the mode, and so the ctime', seen('file', 1), seen('file', 1, { mode: 0o600, ctime: 9000 }), 'attrib'],
    ['the owner', seen('file', 1), seen('file', 1, { uid: 7 }), 'attrib'],
    ['the group', seen('file', 1), seen('file', 1, { gid: 7 }), 'attrib'],
    ['the links', seen('file', 1), seen('file', 1, { nlink: 2 }), 'attrib'],
    [
      'the last link: what is shown here was replaced',
      seen('file', 1),
      seen('file', 1, { nlink: 0 }),
      'modify',
    ],
    ['the content alone', seen('file', 1, { content: 'a' }), seen('file', 1, { content: 'b' }), 'modify'],
    [
      'content and mode',
      seen('file', 1, { content: 'a' }),
      seen('file', 1, { content: 'b', mode: 1 }),
      'modify',
    ],
    ['content that could not be read', seen('file', 1, { content: 'a' }), seen('file', 1), undefined],
    ['content that can be read again', seen('file', 1), seen('file', 1, { content: 'a' }), undefined],
    ['the mode and the size', seen('file', 1), seen('file', 1, { mode: 0o600, size: 6 }), 'modify'],
    [
      'a directory by its entries',
      directory,
      seen('directory', 1, { size: 9, mtime: 9000, ctime: 9000, nlink: 3 }),
      undefined,
    ],
    ['the mode of a directory', directory, seen('directory', 1, { mode: 0o700 }), 'attrib'],
    ['the owner of a directory', directory, seen('directory', 1, { uid: 7 }), 'attrib'],
    ['the inode of a directory', directory, seen('directory', 2), 'replace'],
  ])('%s', (_, before, after, expected) => {
    expect(alteration(before, after, 0)).toBe(expected)
    expect(alteration(before, after, 1e12)).toBe(expected)
  })
})

describe('alteration, where nothing was known but the inode number', () => {
  const since = 1000
  test.each<[string, Entry, Entry, ReturnType<typeof alteration>]>([
    ['not looked at now either', file(1), file(1), undefined],
    ['changed before', file(1), seen('file', 1, { ctimeMs: 999 }), undefined],
    ['changed just then', file(1), seen('file', 1, { ctimeMs: 1000 }), 'modify'],
    ['changed since', file(1), seen('file', 1, { ctimeMs: 2000 }), 'modify'],
    ['another inode', file(1), file(2), 'modify'],
    ['an inode that was not known', file(0), seen('file', 2, { ctimeMs: 1 }), undefined],
    ['another kind', file(1), folder(1), 'replace'],
    ['a directory: its mode', folder(1), seen('directory', 1, { ctimeMs: 2000, ctime: 9 }), 'attrib'],
    [
      'a directory: its entries',
      folder(1),
      seen('directory', 1, { ctimeMs: 2000, ctime: 9, mtime: 9 }),
      undefined,
    ],
    ['a directory: long ago', folder(1), seen('directory', 1, { ctimeMs: 999, ctime: 9 }), undefined],
    ['another directory', folder(1), seen('directory', 2), 'replace'],
  ])('%s', (_, before, after, expected) => {
    expect(alteration(before, after, since)).toBe(expected)
  })

  test('nor since when: a file may have changed, a directory says nothing', () => {
    expect(alteration(file(1), seen('file', 1, { ctimeMs: 1 }), 0)).toBe('modify')
    expect(alteration(folder(1), seen('directory', 1, { ctimeMs: 1, ctime: 9 }), 0)).toBeUndefined()
  })
})

test.each<[string, number, number, boolean]>([
  ['before', 9_999.5, 10_000, false],
  ['just then', 9_999.5, 9_999.5, true],
  ['since', 9_999.5, 9_999, true],
  ['in a whole second, which may be two of vfat', 10_000, 12_000, true],
  ['in a whole second that is over in any case', 10_000, 12_000.5, false],
])('changed %s', (_, ctimeMs, since, expected) => {
  expect(mayBeChangedSince({ ctimeMs }, since)).toBe(expected)
})

describe('one file or two', () => {
  test.each<[Entry, Entry, same: boolean, maybe: boolean]>([
    [file(1), file(1), true, true],
    [file(1), file(2), false, false],
    [file(0), file(1), false, true],
    [file(1), file(0), false, true],
    [file(0), file(0), false, true],
    [file(1), folder(1), false, false],
    [file(0), folder(0), false, false],
  ])('%j and %j', (a, b, same, maybe) => {
    expect([sameFile(a, b), mayBeSame(a, b)]).toEqual([same, maybe])
  })
})

describe('moved', () => {
  const since = 1000
  const born = { btimeMs: 500 }
  const ageless = { btimeMs: 0 }
  test.each<[string, Entry, Entry, boolean]>([
    ['the same, one ctime later', seen('file', 1, born), seen('file', 1, { ...born, ctime: 9 }), true],
    ['written meanwhile', seen('file', 1, born), seen('file', 1, { ...born, size: 9, mtime: 9 }), true],
    ['born later, with the freed number', seen('file', 1, born), seen('file', 1, { btimeMs: 501 }), false],
    ['another inode', seen('file', 1, born), seen('file', 2, born), false],
    ['an inode that was never seen', file(0), seen('file', 0, born), false],
    ['another kind', seen('file', 1, born), seen('symlink', 1, born), false],
    ['nobody has looked', seen('file', 1, born), file(1), false],
    ['no birth, all else alike', seen('file', 1, ageless), seen('file', 1, { ...ageless, ctime: 9 }), true],
    ['no birth, another size', seen('file', 1, ageless), seen('file', 1, { ...ageless, size: 9 }), false],
    ['no birth, another mtime', seen('file', 1, ageless), seen('file', 1, { ...ageless, mtime: 9 }), false],
    ['no birth, another owner', seen('file', 1, ageless), seen('file', 1, { ...ageless, uid: 9 }), false],
    ['no birth, more links', seen('file', 1, ageless), seen('file', 1, { ...ageless, nlink: 2 }), false],
    ['a birth on one side alone', seen('file', 1, ageless), seen('file', 1, born), true],
    ['only a number was known, older than that', file(1), seen('file', 1, { btimeMs: 999 }), true],
    ['only a number was known, born since', file(1), seen('file', 1, { btimeMs: 1000 }), false],
    ['only a number was known, and no birth', file(1), seen('file', 1, ageless), false],
  ])('%s: %#', (_, before, after, expected) => {
    expect(moved(before, after, since)).toBe(expected)
  })
})

describe('alterationOfMoved', () => {
  test.each<[string, Entry, Entry, ReturnType<typeof alterationOfMoved>]>([
    ['a rename alone', seen('file', 1), seen('file', 1, { ctime: 9, ctimeMs: 9 }), undefined],
    ['written', seen('file', 1), seen('file', 1, { mtime: 9 }), 'modify'],
    ['longer', seen('file', 1), seen('file', 1, { size: 9 }), 'modify'],
    ['chmod', seen('file', 1), seen('file', 1, { mode: 0o600 }), 'attrib'],
    ['nobody had looked before', file(1), seen('file', 1), 'modify'],
    ['nobody has looked now', seen('file', 1), file(1), 'modify'],
    ['a directory', seen('directory', 1), seen('directory', 1, { mtime: 9, size: 9 }), undefined],
    ['chown of a directory', seen('directory', 1), seen('directory', 1, { uid: 9 }), 'attrib'],
    ['a directory of which only the number was known', folder(1), seen('directory', 1), undefined],
  ])('%s', (_, before, after, expected) => {
    expect(alterationOfMoved(before, after)).toBe(expected)
  })
})
