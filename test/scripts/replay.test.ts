import { expect, test } from 'vitest'
import type { Change, Kind } from '../../src/index.ts'
import { Replay, type Tree } from './replay.ts'

const change = (type: string, path: string, kind: Kind = 'file') =>
  ({ type, path: `/t/${path}`, kind, mask: 0, source: 'poll' }) as Change
const rename = (from: string, path: string, kind: Kind = 'file', replaced = false) =>
  ({ ...change('rename', path, kind), from: `/t/${from}`, replaced }) as Change
const about = (type: string, path: string) => ({ type, path, source: 'poll' }) as Change

const tree: Tree = new Map([
  ['/t/d', 'directory'],
  ['/t/d/f', 'file'],
  ['/t/da', 'file'],
  ['/t/e', 'directory'],
  ['/t/e/g', 'file'],
])
const replayed = (...changes: Change[]) => {
  const replay = new Replay(tree, ['/t'])
  replay.apply(changes)
  return {
    names: [...replay.present.keys()].map((path) => path.slice(3)).sort(),
    complaints: replay.complaints(),
  }
}

test('a delete and a rename speak for all below', () => {
  expect(replayed(change('delete', 'd', 'directory'))).toEqual({ names: ['da', 'e', 'e/g'], complaints: [] })
  expect(replayed(rename('d', 'e/d', 'directory'))).toEqual({
    names: ['da', 'e', 'e/d', 'e/d/f', 'e/g'],
    complaints: [],
  })
  expect(replayed(rename('d', 'e', 'directory', true))).toEqual({ names: ['da', 'e', 'e/f'], complaints: [] })
})

test('an exchange moves both trees', () => {
  const there = { other: '/t/e', otherKind: 'directory' } as const
  const exchange = { ...change('create', 'd', 'directory'), type: 'exchange', ...there } as Change
  expect(replayed(exchange)).toEqual({ names: ['d', 'd/g', 'da', 'e', 'e/f'], complaints: [] })
})

test.each<[string, Change]>([
  ['create of /t/da, which is there', change('create', 'da')],
  ['create of /t/x/y before its directory', change('create', 'x/y')],
  ['delete of /t/x, which is not there', change('delete', 'x')],
  ['delete of /t/d as file, which is directory', change('delete', 'd')],
  ['modify of /t/x, which is not there', change('modify', 'x')],
  ['rename of /t/x, which is not there', rename('x', 'y')],
  ['rename to /t/e, where something is', rename('da', 'e')],
  ['rename of /t/d as file, which is directory', rename('d', 'x')],
  ['rename to /t/x replaces what is not there', rename('da', 'x', 'file', true)],
  ['rename of /t/x/y before its directory', rename('da', 'x/y')],
  ['lost /x, which is no root', about('lost', '/x')],
  ['restored /t, which was not lost', about('restored', '/t')],
])('complains: %s', (complaint, change) => {
  expect(replayed(change).complaints).toContain(complaint)
})

test('of a lost root nothing is known', () => {
  expect(replayed(about('lost', '/t')).names).toEqual([])
  expect(replayed(about('lost', '/t'), about('lost', '/t')).complaints).toEqual(['lost /t twice'])
  expect(replayed(about('lost', '/t'), about('restored', '/t'), change('delete', 'da'))).toEqual({
    names: ['d', 'd/f', 'e', 'e/g'],
    complaints: [],
  })
})
