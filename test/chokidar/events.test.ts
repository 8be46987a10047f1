// The conversion of changes to events of paths: a pure function.
import { expect, test } from 'vitest'
import { eventsOf } from '../../src/chokidar/events.ts'
import { IN_CLOSE_WRITE, IN_CREATE, IN_MODIFY, IN_MOVED_TO } from '../../src/inotify/constants.ts'
import type { Kind } from '../../src/watch/report/change.ts'

const source = 'inotify'
type EntryWise = Parameters<typeof eventsOf>[0]
const inWords = (changes: EntryWise[]) =>
  changes.flatMap((change) =>
    [...eventsOf(change)].map(([type, path, kind]) => `${type}${kind === 'directory' ? 'Dir' : ''} ${path}`),
  )
const entry = (type: 'create' | 'modify' | 'attrib' | 'delete', path: string, kind: Kind, mask: number) =>
  ({ type, path, kind, mask, source }) as const
const rename = (from: string, path: string, kind: Kind, mask: number, replaced = false) =>
  ({ type: 'rename', from, path, kind, mask, replaced, source }) as const

test('what is moved comes after what it is moved to', () => {
  expect(
    inWords([
      rename('/d', '/n', 'directory', IN_MOVED_TO),
      rename('/d/e', '/n/e', 'directory', 0),
      rename('/d/e/f', '/n/e/f', 'file', 0),
      entry('create', '/n/new', 'file', IN_CREATE),
    ]),
  ).toEqual([
    'unlinkDir /d',
    'addDir /n',
    'unlinkDir /d/e',
    'addDir /n/e',
    'unlink /d/e/f',
    'add /n/e/f',
    'add /n/new',
  ])
})

test('a directory that takes the place of an empty one: that was there before', () => {
  expect(inWords([rename('/d', '/n', 'directory', IN_MOVED_TO, true)])).toEqual(['unlinkDir /d'])
})

test('files', () => {
  expect(inWords([rename('/a', '/b', 'file', IN_MOVED_TO, true)])).toEqual(['unlink /a', 'change /b'])
  expect(inWords([rename('/a', '/b', 'symlink', IN_MOVED_TO)])).toEqual(['unlink /a', 'add /b'])
  expect(inWords([entry('attrib', '/a', 'file', 4), entry('attrib', '/d', 'directory', 4)])).toEqual([
    'change /a',
  ])
})

test.each([
  [entry('create', '/a', 'file', IN_CREATE), false],
  [entry('create', '/a', 'symlink', IN_CREATE), true],
  [entry('modify', '/a', 'file', IN_MODIFY), false],
  [entry('modify', '/a', 'file', IN_MODIFY | IN_CLOSE_WRITE), true],
  [entry('attrib', '/a', 'file', 4), true],
  [{ ...entry('create', '/a', 'file', 0), source: 'poll' as const }, false],
  [{ ...entry('create', '/a', 'file', 0), source: 'rescan' as const }, true],
])('%o: nobody writes to it any more: %j', (change, isClosed) => {
  expect([...eventsOf(change)].map((event) => event[3])).toEqual([isClosed])
})

test('what changes places', () => {
  const exchange = (kind: Kind, otherKind: Kind, path = '/a', other = '/b', mask = 1): EntryWise => {
    return { type: 'exchange', path, other, kind, otherKind, mask, source }
  }
  expect(inWords([exchange('file', 'file')])).toEqual(['change /a', 'change /b'])
  expect(inWords([exchange('directory', 'file')])).toEqual([
    'unlink /a',
    'addDir /a',
    'unlinkDir /b',
    'add /b',
  ])
  expect(
    inWords([
      exchange('directory', 'directory'),
      rename('/a/x', '/b/x', 'file', 0),
      exchange('file', 'file', '/a/y', '/b/y', 0),
    ]),
  ).toEqual(['unlink /a/x', 'add /b/x', 'change /a/y', 'change /b/y'])
})
