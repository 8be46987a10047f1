import { expect, test } from 'vitest'
import { changedNames, facesOf, nameGeneration } from '../../src/mirror/plan/merge.ts'
import { plan, safeWithout } from '../../src/mirror/plan/plan.ts'
import { file, KEY, type Sketch, tree } from './sketch.ts'

function steps(from: Sketch, to: Sketch): string[] {
  return plan(tree(from), tree(to)).map((step) => `${step.do} ${step.path}`)
}

/** Those that are left when some could not be carried out. */
function safeAfter(failed: string[], from: Sketch, to: Sketch): string[] {
  const [old, next] = [tree(from), tree(to)]
  const others = plan(old, next).filter(({ path }) => !failed.includes(path))
  return safeWithout(failed, others, old, next, []).map((step) => `${step.do} ${step.path}`)
}

test('nothing to do', () => {
  const same = { a: file('x'), l: 'a', d: { e: {} } }
  expect(steps(same, same)).toEqual([])
})

test('a new generation: directory, ..data, new links; then stale links, and the old directory last', () => {
  const old = { '..1': { a: file('x'), b: file('x') }, '..data': '..1', a: '..data/a', b: '..data/b' }
  const next = { '..2': { a: file('y'), c: file('x') }, '..data': '..2', a: '..data/a', c: '..data/c' }
  expect(steps(old, next)).toEqual(['place ..2', 'place ..data', 'place c', 'remove b', 'remove ..1'])
  expect(changedNames(facesOf(tree(old)), facesOf(tree(next)))).toEqual(['a', 'b', 'c'])
})

test('withdrawing takes the way in before what it leads to', () => {
  const all = {
    '..1': { a: file('x') },
    '..data': '..1',
    a: '..data/a',
    flat: file('x'),
    sub: { z: file('x') },
  }
  expect(steps(all, {})).toEqual(['remove a', 'remove ..data', 'remove ..1', 'remove flat', 'remove sub'])
})

test('files before the links to them, removals after both', () => {
  expect(steps({ gone: file('x') }, { link: 'new', new: file('x') })).toEqual([
    'place new',
    'place link',
    'remove gone',
  ])
})

test('a link to a link comes behind that, whatever their names', () => {
  const old = { a: 'old', old: file('x') }
  const next = { a: 'b', b: 'd/c', d: { c: '../new' }, new: file('y') }
  const placed = ['place d', 'place new', 'place b', 'place a']
  expect(steps(old, next)).toEqual([...placed, 'remove old'])
  const links = ['place d/c', 'place b', 'place a']
  expect(steps({ ...old, d: {} }, next)).toEqual(['place new', ...links, 'remove old'])
})

test('content decides: a new key alone is remembered, a new mode is set in place', () => {
  const old = { a: file('x'), b: file('x'), c: file('x') }
  const next = { a: file('x', { ctimeNs: 2n }), b: file('x', { mode: 0o100600n }), c: file('y') }
  expect(steps(old, next)).toEqual(['remember a', 'attributes b', 'place c'])
  expect(changedNames(facesOf(tree(old)), facesOf(tree(next)))).toEqual(['b', 'c'])
})

test("a directory's mode comes after what is written into it", () => {
  const old = tree({ d: {} })
  const next = tree({ d: { a: file('x') } })
  const made = next.entries.get('d')
  if (made?.kind === 'directory') next.entries.set('d', { ...made, key: { ...KEY, mode: 0o40555n } })
  expect(plan(old, next).map((step) => `${step.do} ${step.path}`)).toEqual(['place d/a', 'attributes d'])
})

test('an entry that changes its kind is placed, not removed first', () => {
  expect(steps({ a: file('x'), b: {} }, { a: {}, b: 'a' })).toEqual(['place a', 'place b'])
})

test('the names of generations', () => {
  const copy = tree({ a: file('new') })
  const target = (sketch: Sketch) => tree({ '..data': '..1', ...sketch })
  expect(nameGeneration(tree({}), '..1', copy)).toBe('..1')
  expect(nameGeneration(target({ '..1': { a: file('old') } }), '..2', copy)).toBe('..2')
  expect(nameGeneration(target({ '..1': { a: file('new') } }), '..1', copy)).toBe('..1')
  expect(nameGeneration(target({ '..1': { a: file('old') } }), '..1', copy)).toBe('..1.~1')
  const suffixed = tree({ '..data': '..1.~1', '..1.~1': { a: file('old') } })
  expect(nameGeneration(suffixed, '..1', copy)).toBe('..1')
})

test('what replaces a key comes before ..data, which has it no longer; what becomes a key, behind it', () => {
  const old = {
    '..1': { a: file('x'), b: file('x') },
    '..data': '..1',
    a: '..data/a',
    b: '..data/b',
    c: file('x'),
  }
  const next = {
    '..2': { b: file('y'), c: file('y') },
    '..data': '..2',
    a: file('y'),
    b: '..data/b',
    c: '..data/c',
  }
  expect(steps(old, next)).toEqual(['place ..2', 'place a', 'place ..data', 'place c', 'remove ..1'])
  // Without it ..data must not move: `a` would lead nowhere.
  expect(safeAfter(['a'], old, next)).toEqual(['place ..2'])
})

test('without the new generation all keys stay as they are, those too that it lacks or has more', () => {
  const old = { '..1': { a: file('x'), b: file('x') }, '..data': '..1', a: '..data/a', b: '..data/b' }
  const next = {
    '..2': { a: file('y'), c: file('y') },
    '..data': '..2',
    a: '..data/a',
    c: '..data/c',
    flat: file('y'),
  }
  expect(safeAfter(['..2'], old, next)).toEqual(['place flat'])
  expect(safeAfter(['..data'], old, next)).toEqual(['place ..2', 'place flat'])
})

test('so it is in a volume below the source: what leaves a link goes first, what comes over it comes behind', () => {
  const one = { '..1': { a: file('x'), b: file('x') }, '..data': '..1', a: '..data/a', b: '..data/b' }
  const two = {
    '..2': { a: file('y'), c: file('y') },
    '..data': '..2',
    a: '..data/a',
    b: '../f',
    c: '..data/c',
  }
  const f = file('x')
  const [old, next] = [
    { v: one, f },
    { v: two, f },
  ]
  expect(steps(old, next)).toEqual([
    'place v/..2',
    'place v/b',
    'place v/..data',
    'place v/c',
    'remove v/..1',
  ])
  expect(safeAfter(['v/..2'], old, next)).toEqual(['place v/b'])
  expect(safeAfter(['v/b'], old, next)).toEqual(['place v/..2'])
})

test('so do links into a source, and those over other links', () => {
  const old = {
    '..1': { a: file('x'), b: file('x') },
    '..data': '..1',
    a: '..data/a',
    b: '..data/b',
    sub: {},
  }
  const next = {
    '..2': { d: file('y') },
    '..data': '..2',
    a: '/source/a',
    b: 'sub/file',
    d: '..data/d',
    sub: { file: file('y'), up: '../over' },
    over: 'd',
  }
  expect(steps(old, next)).toEqual([
    'place ..2',
    'place sub/file',
    'place a',
    'place b',
    'place ..data',
    'place d',
    'place over',
    'place sub/up',
    'remove ..1',
  ])
})

test('a ConfigMap that becomes flat: files first, and then what led to the keys goes', () => {
  const old = { '..1': { n: { a: file('x') } }, '..data': '..1', n: '..data/n' }
  expect(steps(old, { n: { a: file('y') } })).toEqual(['place n', 'remove ..data', 'remove ..1'])
  expect(steps({ n: { a: file('y') } }, old)).toEqual(['place ..1', 'place ..data', 'place n'])
})

test('a name that another entry shall have is not given to a generation', () => {
  const copy = tree({ a: file('x') })
  expect(nameGeneration(tree({}), '..1', copy, new Map([['..1', {}]]))).toBe('..1.~1')
  const published = tree({ '..data': '..1', '..1': { a: file('x') } })
  expect(nameGeneration(published, '..1', copy, new Map([['..1', {}]]))).toBe('..1.~1')
})

test('a chain of more links than there can be calls within calls', () => {
  const LINKS = 20_000
  const name = (i: number) => `l${`${i}`.padStart(5, '0')}`
  const chain = Object.fromEntries(Array.from({ length: LINKS }, (_, i) => [name(i), name(i + 1)]))
  expect(steps({}, chain)).toHaveLength(LINKS)
})
