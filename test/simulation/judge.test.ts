import { expect, test } from 'vitest'
import type { Change } from '../../src/index.ts'
import { FileOperations } from './kernel/file_operations.ts'
import { FileTree } from './kernel/file_tree.ts'
import { Judge } from './play/judge.ts'
import { callsOf, type Operation } from './play/operation.ts'
import { ORDINARY, TREES } from './play/scenario.ts'

/**
 * Returns a judge of the small tree, and a function that makes operations there. `tick` is called between the
 * steps of a call.
 */
function judging(now: () => number = () => 0, tick = () => {}) {
  const tree = new FileTree(now)
  const files = new FileOperations(tree)
  const perform = (operation: Operation) => {
    for (const _ of callsOf(operation, files, tree)) tick()
  }
  for (const operation of TREES.small) perform(operation)
  return { judge: new Judge(tree, ORDINARY), perform }
}

const told = { kind: 'file', mask: 0, source: 'inotify' } as const
const rename = (from: string, path: string, replaced = false): Change => ({
  type: 'rename',
  from,
  path,
  replaced,
  ...told,
})

test('what is told is right, or what is wrong is said', () => {
  const { judge, perform } = judging()
  perform({ type: 'write', path: '/t/a/f' })
  expect(judge.judge()).toEqual(['/t/a/f was written: not told since'])
  judge.apply([{ type: 'modify', path: '/t/a/f', ...told }])
  perform({ type: 'write', path: '/t/a/f' })
  expect(judge.judge()).toEqual(['/t/a/f was written: not told since'])
  perform({ type: 'rename', path: '/t/a/f', other: '/t/n' })
  perform({ type: 'mkdir', path: '/t/m' })
  expect(judge.judge()).toEqual([
    'file /t/n is there: not told',
    'directory /t/m is there: not told',
    '/t/a/f is gone: not told',
  ])
  judge.apply([rename('/t/n', '/t/o'), rename('/t/o', '/t/n')])
  expect(judge.judge()).toEqual([])
})

test.each([
  [10, ['/t/a/f was written: not told since']],
  [20, []],
])('a write that takes %s ms, if nobody is told of it', (ms, wrong) => {
  let now = 0
  const { judge, perform } = judging(
    () => now,
    () => {
      now += ms
    },
  )
  perform({ type: 'append', path: '/t/a/f' })
  expect(judge.judge()).toEqual(wrong)
  perform({ type: 'create', path: '/t/a/n' })
  perform({ type: 'append', path: '/t/a/n' })
  expect(judge.judge()).toEqual(['file /t/a/n is there: not told'])
})

test('a change must fit', () => {
  const { judge } = judging()
  judge.apply([{ type: 'create', path: '/t/a/f', ...told }])
  judge.apply([{ type: 'delete', path: '/t/n', ...told }])
  expect(judge.judge()).toEqual([
    "told 'create /t/a/f', which is there",
    "told 'delete /t/n', which is not there",
  ])
})

test('a write that a rename alone was told of is lost; so is a file that has another put over it', () => {
  const { judge, perform } = judging()
  perform({ type: 'rename', path: '/t/a/f', other: '/t/n' })
  perform({ type: 'write', path: '/t/n' })
  judge.apply([rename('/t/a/f', '/t/n')])
  expect(judge.judge()).toEqual(['/t/n was written: not told since'])
  perform({ type: 'rename', path: '/out/x', other: '/t/n' })
  expect(judge.judge()).toEqual(['/t/n is another file: not told'])
})

const exchange = (path: string, other: string): Change => ({
  type: 'exchange',
  path,
  other,
  otherKind: 'file',
  ...told,
})

test('an exchange is one change: half of it lands on a name that is taken', () => {
  const { judge, perform } = judging()
  perform({ type: 'exchange', path: '/t/a/f', other: '/t/b/g' })
  judge.apply([exchange('/t/a/f', '/t/b/g')])
  expect(judge.judge()).toEqual([])
  perform({ type: 'exchange', path: '/t/b/g', other: '/t/b/d/h' })
  judge.apply([rename('/t/b/g', '/t/b/d/h'), rename('/t/b/d/h', '/t/b/g')])
  expect(judge.judge()).toContain("told 'rename /t/b/g /t/b/d/h', which has a name that is taken")
})

test('an overflow is told to be over, which only one is that was told', () => {
  const { judge } = judging()
  const overflow = { type: 'overflow', path: '/t', source: 'inotify' } as const
  judge.apply([overflow])
  expect(judge.judge()).toEqual(['an overflow of /t is told, and not that it is over'])
  judge.apply([{ ...overflow, type: 'recovered' }])
  expect(judge.judge()).toEqual([])
  judge.apply([{ ...overflow, type: 'recovered' }])
  expect(judge.judge()).toEqual(["told 'recovered /t', which had no overflow"])
})

test('a change must fit what it is told of: its kind, and where it lies', () => {
  const { judge } = judging()
  judge.apply([
    { type: 'modify', path: '/t/a', ...told },
    exchange('/t/a/f', '/t/b'),
    rename('/t/b', '/t/b/d/n'),
    exchange('/t/b', '/t/b/d'),
  ])
  const refused = judge.judge().filter((wrong) => wrong.startsWith('told'))
  expect(refused).toEqual([
    "told 'modify /t/a', which is a directory",
    "told 'exchange /t/a/f /t/b', which is a directory",
    "told 'rename /t/b /t/b/d/n', which would lie in itself",
    "told 'exchange /t/b /t/b/d', which would lie in itself",
  ])
})
