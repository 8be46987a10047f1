import { describe, expect, test } from 'vitest'
import type { Change, Kind } from '../../src/index.ts'
import { AppliedAlone } from './applied_alone.ts'

const source = 'inotify'
const told = (
  type: 'create' | 'modify' | 'attrib' | 'delete',
  path: string,
  kind: Kind = 'file',
): Change => ({
  type,
  path,
  kind,
  mask: 0,
  source,
})
const renamed = (from: string, path: string, kind: Kind = 'file', replaced = false): Change => ({
  type: 'rename',
  from,
  path,
  replaced,
  kind,
  mask: 0,
  source,
})
const exchanged = (path: string, other: string, kind: Kind = 'file', otherKind = kind): Change => ({
  type: 'exchange',
  path,
  other,
  kind,
  otherKind,
  mask: 0,
  source,
})

/** Directories d and e, each with a file in it, and the files a and b. */
const start = () =>
  new AppliedAlone('/t').adopt([
    ['/t/a', 'file'],
    ['/t/b', 'symlink'],
    ['/t/d', 'directory'],
    ['/t/d/x', 'file'],
    ['/t/e', 'directory'],
    ['/t/e/y', 'file'],
  ])

const namesAfter = (...changes: Change[]) => [...start().apply(changes).names.keys()].toSorted()

describe('what fits', () => {
  test('a directory moves with all below it, and goes with it', () => {
    expect(namesAfter(renamed('/t/d', '/t/e/d', 'directory'))).toContain('/t/e/d/x')
    expect(namesAfter(told('delete', '/t/d', 'directory'))).toEqual(['/t/a', '/t/b', '/t/e', '/t/e/y'])
  })

  test('an exchange swaps two names with all below them, and their kinds', () => {
    const names = start().apply([exchanged('/t/a', '/t/d', 'directory', 'file')]).names
    expect(Object.fromEntries(names)).toEqual({
      '/t/a': 'directory',
      '/t/a/x': 'file',
      '/t/b': 'symlink',
      '/t/d': 'file',
      '/t/e': 'directory',
      '/t/e/y': 'file',
    })
  })

  test('a circle of three is two exchanges', () => {
    const all = new AppliedAlone('/t').adopt([
      ['/t/a', 'file'],
      ['/t/b', 'symlink'],
      ['/t/c', 'other'],
    ])
    // a to b, b to c, c to a.
    all.apply([exchanged('/t/a', '/t/b', 'symlink', 'file'), exchanged('/t/a', '/t/c', 'other', 'symlink')])
    expect(Object.fromEntries(all.names)).toEqual({ '/t/a': 'other', '/t/b': 'file', '/t/c': 'symlink' })
  })

  test('a rename over another, where it says so', () => {
    expect(namesAfter(renamed('/t/a', '/t/b', 'file', true))).not.toContain('/t/a')
  })

  test('what is told of a root puts no name in or out', () => {
    expect(
      namesAfter(
        { type: 'overflow', path: '/t', source },
        { type: 'lost', path: '/t', kind: 'directory', reason: 'deleted', source },
      ),
    ).toEqual(namesAfter())
  })

  test('a root that is a file has changes under its own name', () => {
    const all = new AppliedAlone('/t/a').adopt([['/t/a', 'file']])
    expect([...all.apply([told('modify', '/t/a')]).names]).toEqual([['/t/a', 'file']])
  })

  test('paths of bytes are known by their bytes', () => {
    const path = (last: number) => Buffer.from([...Buffer.from('/t/'), last])
    const mask = 0
    const all = new AppliedAlone('/t').apply([
      { type: 'create', path: path(0xfe), kind: 'file', mask, source },
      { type: 'create', path: path(0xff), kind: 'symlink', mask, source },
      {
        type: 'exchange',
        path: path(0xfe),
        other: path(0xff),
        kind: 'symlink',
        otherKind: 'file',
        mask,
        source,
      },
    ])
    expect(Object.fromEntries(all.names)).toEqual({ '/t/\xfe': 'symlink', '/t/\xff': 'file' })
  })
})

describe('what does not is refused, in words', () => {
  test.each<[Change, string]>([
    [told('create', '/t/a'), 'create file /t/a (inotify): the name is taken, by a file'],
    [told('create', '/t/none/a'), 'create file /t/none/a (inotify): it is in no directory'],
    [told('create', '/t/a/in'), 'create file /t/a/in (inotify): it is in no directory'],
    [told('delete', '/t/none'), 'delete file /t/none (inotify): nothing has this name'],
    [told('modify', '/t/none'), 'modify file /t/none (inotify): nothing has this name'],
    [told('attrib', '/t/d'), 'attrib file /t/d (inotify): it is a directory'],
    [
      renamed('/t/none', '/t/c'),
      'rename file /t/none to /t/c (inotify): nothing has the name that it leaves',
    ],
    [renamed('/t/a', '/t/b'), 'rename file /t/a to /t/b (inotify): the name is taken, by a symlink'],
    [
      renamed('/t/a', '/t/c', 'file', true),
      'rename file /t/a to /t/c (replaced) (inotify): it replaces nothing',
    ],
    [
      renamed('/t/d', '/t/d/in', 'directory'),
      'rename directory /t/d to /t/d/in (inotify): it would lie in itself',
    ],
    [
      renamed('/t/d/x', '/t/d', 'file', true),
      'rename file /t/d/x to /t/d (replaced) (inotify): it replaces what it lies in',
    ],
    [renamed('/t/a', '/t/none/a'), 'rename file /t/a to /t/none/a (inotify): it is in no directory'],
    [
      exchanged('/t/a', '/t/none'),
      'exchange file /t/a with file /t/none (inotify): one of the two is not there',
    ],
    [
      exchanged('/t/d', '/t/d/x', 'file', 'directory'),
      'exchange file /t/d with directory /t/d/x (inotify): one of the two lies in the other',
    ],
    [
      exchanged('/t/a', '/t/d', 'file', 'directory'),
      'exchange file /t/a with directory /t/d (inotify): it is a directory',
    ],
  ])('%#: %o', (change, words) => {
    expect(() => start().apply([change])).toThrow(words)
  })

  test('two renames onto each other, which were an exchange once', () => {
    expect(() =>
      start().apply([renamed('/t/d', '/t/e', 'directory'), renamed('/t/e', '/t/d', 'directory')]),
    ).toThrow('rename directory /t/d to /t/e (inotify): the name is taken, by a directory')
  })
})
