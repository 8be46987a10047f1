// What changes are to a list of paths: pure.
import { expect, test } from 'vitest'
import { eventsOf } from '../../src/chokidar/events.ts'
import { IN_CLOSE_WRITE, IN_CREATE, IN_DELETE, IN_MODIFY, IN_MOVED_TO } from '../../src/inotify/constants.ts'
import type { Change, Kind } from '../../src/watch/report/change.ts'

const source = 'inotify'
const inWords = (changes: Change[]) => eventsOf(changes).map(({ event, path }) => `${event} ${path}`)
const entry = (type: 'create' | 'modify' | 'attrib' | 'delete', path: string, kind: Kind, mask: number) =>
  ({ type, path, kind, mask, source }) as const
const rename = (from: string, path: string, kind: Kind, mask: number, replaced = false) =>
  ({ type: 'rename', from, path, kind, mask, replaced, source }) as const

test('what is in a directory goes before it, and comes behind it', () => {
  const below = [entry('delete', '/d/e', 'directory', 0), entry('delete', '/d/e/f', 'file', 0)]
  expect(inWords([entry('delete', '/d', 'directory', IN_DELETE), ...below])).toEqual([
    'unlink /d/e/f',
    'unlinkDir /d/e',
    'unlinkDir /d',
  ])
  expect(
    inWords([
      rename('/d', '/n', 'directory', IN_MOVED_TO),
      rename('/d/e', '/n/e', 'directory', 0),
      rename('/d/e/f', '/n/e/f', 'file', 0),
      entry('create', '/n/new', 'file', IN_CREATE),
    ]),
  ).toEqual([
    'unlink /d/e/f',
    'unlinkDir /d/e',
    'unlinkDir /d',
    'addDir /n',
    'addDir /n/e',
    'add /n/e/f',
    'add /n/new',
  ])
})

test('two directories that go one after the other are told one after the other, also by a poll', () => {
  const gone = (path: string, kind: Kind): Change => ({ type: 'delete', path, kind, mask: 0, source: 'poll' })
  expect(
    inWords([gone('/d', 'directory'), gone('/d/f', 'file'), gone('/da', 'directory'), gone('/da/f', 'file')]),
  ).toEqual(['unlink /d/f', 'unlinkDir /d', 'unlink /da/f', 'unlinkDir /da'])
})

test('files', () => {
  expect(inWords([rename('/a', '/b', 'file', IN_MOVED_TO, true)])).toEqual(['unlink /a', 'change /b'])
  expect(inWords([rename('/a', '/b', 'symlink', IN_MOVED_TO)])).toEqual(['unlink /a', 'add /b'])
  expect(inWords([entry('attrib', '/a', 'file', 4), entry('attrib', '/d', 'directory', 4)])).toEqual([
    'change /a',
  ])
  const [first, second] = eventsOf([
    entry('create', '/a', 'file', IN_CREATE),
    entry('modify', '/a', 'file', IN_MODIFY | IN_CLOSE_WRITE),
  ])
  expect([first?.isClosed, second?.isClosed]).toEqual([false, true])
})

test('what changes places', () => {
  const exchange = (kind: Kind, otherKind: Kind, path = '/a', other = '/b', mask = 1): Change => {
    return { type: 'exchange', path, other, kind, otherKind, mask, source }
  }
  expect(inWords([exchange('file', 'file')])).toEqual(['change /a', 'change /b'])
  expect(inWords([exchange('directory', 'file')]).sort()).toEqual([
    'add /b',
    'addDir /a',
    'unlink /a',
    'unlinkDir /b',
  ])
  expect(
    inWords([
      exchange('directory', 'directory'),
      rename('/a/x', '/b/x', 'file', 0),
      exchange('file', 'file', '/a/y', '/b/y', 0),
    ]),
  ).toEqual(['unlink /a/x', 'add /b/x', 'change /a/y', 'change /b/y'])
})

test('of a directory there may be more than a call takes', () => {
  const below = Array.from({ length: 200_000 }, (_, i) => entry('delete', `/d/${i}`, 'file', 0))
  const told = eventsOf([
    entry('delete', '/d', 'directory', IN_DELETE),
    ...below,
    entry('delete', '/e', 'file', IN_DELETE),
  ])
  expect(told).toHaveLength(200_002)
  expect(told.slice(-2).map(({ path }) => path)).toEqual(['/d', '/e'])
})
