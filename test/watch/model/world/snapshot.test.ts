import { linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Change, Kind } from '../../../../src/index.ts'
import { scratch } from '../../../support/scratch.ts'
import { AppliedAlone } from '../../applied_alone.ts'
import { contentsOf, divergences, type Snapshot, snapshot, snapshotOfFiles } from './snapshot.ts'

/**
 * Returns a tree: 'd/' is a directory, 'l@' a link, and 'f' a file with its name as content, or 'f=x' with x.
 */
function tree(...entries: string[]): Snapshot {
  return new Map(
    entries.map((entry, i) => {
      const [, name, sign = '', content = name] = /^([^/@=]+)([/@]?)(?:=(.*))?$/.exec(entry) as string[]
      const kind: Kind = sign === '/' ? 'directory' : sign === '@' ? 'symlink' : 'file'
      const held = kind === 'directory' ? '' : (content as string)
      return [`/r/${name}`, { kind, content: held, ino: BigInt(i), nlink: 1n, ctime: 0n, mtime: 0n }]
    }),
  )
}

const common = { kind: 'file', mask: 0, source: 'inotify' } as const
const renamed = (from: string, path: string): Change => ({
  type: 'rename',
  from: `/r/${from}`,
  path: `/r/${path}`,
  replaced: false,
  ...common,
})
const told = (type: 'modify' | 'attrib' | 'delete', path: string): Change => ({
  type,
  path: `/r/${path}`,
  ...common,
})

const believedAfter = (before: Snapshot, changes: Change[], at?: number) => {
  const all = new AppliedAlone('/r').adopt(contentsOf(before), 1)
  for (const change of changes) expect(all.misfit(change, at)).toBeUndefined()
  return all.entries
}

describe('what is believed and what is', () => {
  test.each<[string, Snapshot, Change[], Snapshot, RegExp[]]>([
    ['all as told', tree('a=1'), [told('modify', 'a')], tree('a=2'), []],
    ['a name too few', tree('a'), [], tree('a', 'b'), [/b missed: it is a file/]],
    ['a name too many', tree('a', 'b'), [], tree('a'), [/b a ghost/]],
    ['another kind', tree('a'), [], tree('a/'), [/a believed to be a file, and is a directory/]],
    [
      'written, and nobody said so',
      tree('a=1'),
      [],
      tree('a=2'),
      [/a not named: it held "1", and holds "2"/],
    ],
    ['attributes are no content', tree('a=1'), [told('attrib', 'a')], tree('a=2'), [/a not named/]],
    ['a link that leads elsewhere', tree('a@=1'), [], tree('a@=2'), [/a not named/]],
    ['written, and said to be renamed', tree('a=1'), [renamed('a', 'b')], tree('b=2'), [/b not named/]],
    [
      'falsely paired',
      tree('a=1', 'b=2'),
      [renamed('a', 'c'), told('delete', 'b')],
      tree('c=2'),
      [/c not named/],
    ],
  ])('%s', (_, before, changes, after, expected) => {
    const found = divergences(believedAfter(before, changes), after)
    expect(found.map(({ path, what }) => `${path} ${what}`)).toEqual(
      expected.map((each) => expect.stringMatching(each)),
    )
  })

  test('a file that was written after it was last told', () => {
    const believed = believedAfter(tree('a'), [told('modify', 'a'), renamed('a', 'b')], 1000)
    const written = (at: number) => divergences(believed, tree('b'), { at: new Map([[0n, at]]) })
    expect(written(1001)).toEqual([])
    expect(written(1001.5)).toMatchObject([{ what: expect.stringMatching(/^not told since/) }])
  })

  test('of a file with two names the content does not count', () => {
    const written = { linked: new Set([0n]), at: new Map([[0n, 1000]]) }
    expect(divergences(believedAfter(tree('a=1'), []), tree('a=2'), written)).toEqual([])
  })
})

describe('a tree as it is', () => {
  const kinds = (found: Snapshot, root: string) =>
    [...found].map(([path, { kind, leadsTo }]) =>
      [path.slice(root.length + 1), kind, ...(leadsTo === undefined ? [] : [leadsTo])].join(' '),
    )

  test('with links that are followed, and those that lead round in a circle', () => {
    const base = scratch()
    const at = (path: string) => join(base, path)
    for (const path of ['r/d', 'out/e']) mkdirSync(at(path), { recursive: true })
    writeFileSync(at('out/e/f'), 'x')
    symlinkSync('../out', at('r/l'))
    symlinkSync('../../r', at('r/d/up'))
    symlinkSync('../out/e/f', at('r/file'))
    symlinkSync('none', at('r/nowhere'))
    symlinkSync('../..', at('r/above'))
    expect(kinds(snapshot(at('r'), { followSymlinks: true }), at('r')).toSorted()).toEqual([
      'above symlink',
      'd directory',
      'd/up symlink',
      'file symlink file',
      'l directory',
      'l/e directory',
      'l/e/f file',
      'nowhere symlink',
    ])
    const links = kinds(snapshot(at('r')), at('r')).filter((line) => line.endsWith('symlink'))
    expect(links.toSorted()).toEqual([
      'above symlink',
      'd/up symlink',
      'file symlink',
      'l symlink',
      'nowhere symlink',
    ])
  })

  test('without what is ignored, by names of bytes', () => {
    const root = scratch()
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xe9])]), 'x')
    mkdirSync(join(root, 'no/in'), { recursive: true })
    const found = snapshot(root, { names: 'latin1', ignores: (path) => path.endsWith('/no') })
    expect([...found.keys()]).toEqual([`${root}/\xe9`])
  })

  test('roots that are files, by way of links', () => {
    const base = scratch()
    const at = (path: string) => join(base, path)
    writeFileSync(at('f'), 'x')
    symlinkSync('f', at('l'))
    linkSync(at('f'), at('g'))
    mkdirSync(at('d'))
    const found = snapshotOfFiles(['f', 'l', 'd', 'none'].map(at))
    const { ino } = statSync(at('f'), { bigint: true })
    expect([...found].map(([path, seen]) => [path, seen.content, seen.ino])).toEqual([
      [at('f'), 'x', ino],
      [at('l'), 'x', ino],
    ])
  })
})
