import { describe, expect, test } from 'vitest'
import type { Change, Kind } from '../../../src/index.ts'
import { divergences, type Snapshot } from './snapshot.ts'
import { TreeReplay } from './tree_replay.ts'

/** 'create file a/b', 'rename file a b replaced', 'overflow .' as a change below /r. */
function change(words: string): Change {
  const [type, kind, ...paths] = words.split(' ') as [Change['type'], Kind, ...string[]]
  const [path, to, end] = paths.map((each) => `/r/${each}`)
  const common = { kind, mask: 0, source: 'inotify' } as const
  if (type === 'exchange') {
    const [path, otherKind, other] = paths as [string, Kind, string]
    return { type, path: `/r/${path}`, other: `/r/${other}`, otherKind, ...common }
  }
  if (type === 'rename')
    return { type, from: path as string, path: to as string, replaced: end !== undefined, ...common }
  if (path === undefined) return { type, path: '/r', source: 'inotify' } as Change
  return { type, path, ...common } as Change
}

/** 'd/' is a directory, 'l@' a link, 'f' a file that holds its name or, 'f=x', what is given. */
function tree(entries: string[]): Snapshot {
  return new Map(
    entries.map((entry, i) => {
      const [, path, sign = '', content] = /^([^/@=]+(?:\/[^/@=]+)*)([/@]?)(?:=(.*))?$/.exec(
        entry,
      ) as string[]
      const kind: Kind = sign === '/' ? 'directory' : sign === '@' ? 'symlink' : 'file'
      const seen = { kind, content: content ?? (kind === 'directory' ? '' : (path as string)), ctime: 0n }
      return [path as string, { ...seen, ino: BigInt(i) }]
    }),
  )
}

function replayed(before: string[], changes: string[]) {
  const replay = new TreeReplay('/r')
  replay.adopt(tree(before))
  replay.apply(changes.map(change))
  return replay
}

describe('what follows on what was there', () => {
  test.each<[string, string[], string[], string[]]>([
    ['create', [], ['create directory a', 'create file a/b'], ['a/', 'a/b']],
    ['a delete speaks for all below', ['a/', 'a/b/', 'a/b/c', 'd'], ['delete directory a'], ['d']],
    ['a rename takes all below', ['a/', 'a/b=1'], ['rename directory a c'], ['c/', 'c/b=1']],
    ['to another directory', ['a/', 'a/b=1', 'c/'], ['rename file a/b c/d'], ['a/', 'c/', 'c/d=1']],
    ['a rename over', ['a=1', 'b=2'], ['rename file a b replaced'], ['b=1']],
    ['an exchange', ['a=1', 'b=2'], ['exchange file a file b'], ['a=2', 'b=1']],
    [
      'an exchange over directories, one of which is renamed then',
      ['a/', 'a/b=1', 'c/', 'c/d/', 'c/d/e=2'],
      ['exchange directory a/b file c/d', 'rename directory c f'],
      ['a/', 'a/b/', 'a/b/e=2', 'f/', 'f/d=1'],
    ],
    ['what is named may hold anything', ['a=1'], ['modify file a'], ['a=2']],
    ['the kind is learnt late', [], ['create file a', 'rename symlink a b'], ['b@']],
    ['attributes are no content', ['a=1'], ['attrib file a'], ['a=1']],
    ['after an overflow', ['a=1'], ['overflow', 'delete file a', 'create directory a', 'recovered'], ['a/']],
  ])('%s', (_, before, changes, after) => {
    const replay = replayed(before, changes)
    expect(replay.faults).toEqual([])
    expect(divergences(replay, tree(after))).toEqual([])
  })
})

describe('what does not', () => {
  test.each<[string, string[], string[], string]>([
    ['created twice', ['a'], ['create file a'], 'is there already, a file'],
    ['deleted twice', ['a'], ['delete file a', 'delete file a'], 'is not there'],
    ['modified where nothing is', [], ['modify file a'], 'is not there'],
    ['attributes of nothing', [], ['attrib file a'], 'is not there'],
    ['below what was deleted', ['a/', 'a/b'], ['delete directory a', 'delete file a/b'], 'in no directory'],
    ['below a file', ['a'], ['create file a/b'], 'in no directory'],
    ['renamed from nowhere', [], ['rename file a b'], 'from /r/a, where nothing is'],
    ['under its old name', ['a/', 'a/b'], ['rename directory a c', 'modify file a/b'], 'in no directory'],
    ['replaced, and nothing was there', ['a'], ['rename file a b replaced'], 'replaced nothing'],
    ['of another kind', ['a'], ['delete directory a'], 'is a file'],
    ['renamed as another kind', ['a'], ['rename directory a b'], 'is a file'],
    ['lost', [], ['lost'], 'the root never went'],
  ])('%s', (_, before, changes, what) => {
    expect(replayed(before, changes).faults).toMatchObject([{ what, afterOverflow: false }])
  })

  test('outside of the root, and the root itself', () => {
    const replay = new TreeReplay('/r')
    const at = (path: string): Change => ({ type: 'create', path, kind: 'file', mask: 0, source: 'poll' })
    replay.apply(['/r', '/rr/a', '/a'].map(at))
    expect(replay.faults.map(({ what }) => what)).toEqual(Array(3).fill('in no directory'))
  })

  test('that events had been lost is said', () => {
    const [fault] = replayed([], ['overflow', 'delete file a']).faults
    expect(fault).toMatchObject({ afterOverflow: true })
  })
})

describe('what is believed and what is', () => {
  test.each<[string, string[], string[], string[], RegExp[]]>([
    ['a name too few', ['a'], [], ['a', 'b'], [/^b missed: it is a file/]],
    ['a name too many', ['a', 'b'], [], ['a'], [/^b a ghost/]],
    ['another kind', ['a'], [], ['a/'], [/^a believed to be a file, and is a directory/]],
    ['written, and nobody said so', ['a=1'], [], ['a=2'], [/^a not named: it held "1", and holds "2"/]],
    ['a link that leads elsewhere', ['a@=1'], [], ['a@=2'], [/^a not named/]],
    ['written, and said to be renamed', ['a=1'], ['rename file a b'], ['b=2'], [/^b not named/]],
    ['falsely paired', ['a=1', 'b=2'], ['rename file a c', 'delete file b'], ['c=2'], [/^c not named/]],
  ])('%s', (_, before, changes, after, expected) => {
    const found = divergences(replayed(before, changes), tree(after))
    expect(found.map(({ path, what }) => `${path} ${what}`)).toEqual(
      expected.map((each) => expect.stringMatching(each)),
    )
  })

  test('of a file with two names the content does not count', () => {
    const replay = replayed(['a=1'], [])
    expect(divergences(replay, tree(['a=2']), new Set([0n]))).toEqual([])
  })
})
