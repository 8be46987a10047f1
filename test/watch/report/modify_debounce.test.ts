import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type Change,
  type EntryChange,
  type ExchangeChange,
  IN_CLOSE_WRITE,
  IN_MODIFY,
  type RenameChange,
} from '../../../src/index.ts'
import { systemClock } from '../../../src/watch/clock.ts'
import { ModifyDebounce } from '../../../src/watch/report/modify_debounce.ts'
import { inWords } from '../support.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const change = (type: 'create' | 'modify' | 'attrib' | 'delete', path: string, mask = 0): EntryChange => ({
  type,
  path: `/r/${path}`,
  kind: 'file',
  mask,
  source: 'inotify',
})
const modify = (path: string, mask = IN_MODIFY) => change('modify', path, mask)
const rename = (from: string, path: string, replaced = false): RenameChange => ({
  type: 'rename',
  from: `/r/${from}`,
  path: `/r/${path}`,
  replaced,
  kind: 'file',
  mask: 0,
  source: 'inotify',
})

function quiet(time = 100) {
  const changes: Change[] = []
  const it = new ModifyDebounce(time, systemClock, (batch) => changes.push(...batch))
  /** What was told since the last call. */
  const told = () => changes.splice(0).map((each) => inWords(each, '/r'))
  return { it, changes, told }
}

const exchange = (path: string, other: string): ExchangeChange => ({
  type: 'exchange',
  path: `/r/${path}`,
  other: `/r/${other}`,
  kind: 'file',
  otherKind: 'file',
  mask: 0,
  source: 'inotify',
})

describe('an exchange', () => {
  test.each([
    ['one', ['a'], ['b']],
    ['the other', ['b'], ['a']],
    ['both', ['a', 'b'], ['a', 'b']],
    ['what is below one', ['a/x'], ['b/x']],
    ['what is below both', ['a/x', 'b/y', 'ab'], ['a/y', 'ab', 'b/x']],
  ])('takes what is held of %s along', (_, held, later) => {
    const { it, told } = quiet()
    it.take(held.map((path) => modify(path)))
    it.take([exchange('b', 'a')])
    expect(told()).toEqual(['exchange file a file b'])
    vi.advanceTimersByTime(150)
    expect(told().toSorted()).toEqual(later.map((path) => `modify file ${path}`))
  })
})

describe('a modify', () => {
  test('is told when there has been none of its path for the time, with all their masks', () => {
    const { it, changes } = quiet()
    it.take([modify('a')])
    vi.advanceTimersByTime(60)
    it.take([modify('a', IN_CLOSE_WRITE)])
    vi.advanceTimersByTime(99)
    expect(changes).toEqual([])
    vi.advanceTimersByTime(2)
    expect(changes).toEqual([modify('a', IN_MODIFY | IN_CLOSE_WRITE)])
    vi.advanceTimersByTime(1000)
    expect(changes).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('of one path does not hold back that of another', () => {
    const { it, told } = quiet()
    it.take([modify('a'), modify('b')])
    vi.advanceTimersByTime(50)
    it.take([modify('a')])
    vi.advanceTimersByTime(51)
    expect(told()).toEqual(['modify file b'])
    vi.advanceTimersByTime(50)
    expect(told()).toEqual(['modify file a'])
  })

  test('everything else passes at once', () => {
    const { it, told } = quiet()
    it.take([
      change('create', 'a'),
      modify('a'),
      change('attrib', 'a'),
      { type: 'lost', path: '/r', kind: 'directory', reason: 'deleted', source: 'poll' },
    ])
    expect(told()).toEqual(['create file a', 'attrib file a', 'lost .'])
    vi.advanceTimersByTime(101)
    expect(told()).toEqual(['modify file a'])
  })
})

describe('a rename', () => {
  test('takes what is held back with it, and does not put it off', () => {
    const { it, told } = quiet()
    it.take([modify('a')])
    vi.advanceTimersByTime(60)
    it.take([rename('a', 'b'), rename('b', 'c')])
    expect(told()).toEqual(['rename file a b', 'rename file b c'])
    vi.advanceTimersByTime(41)
    expect(told()).toEqual(['modify file c'])
  })

  test('of a directory takes what is below it, and no more', () => {
    const { it, told } = quiet()
    it.take([modify('d/x/f'), modify('dx')])
    it.take([rename('d', 'e')])
    vi.advanceTimersByTime(101)
    expect(told()).toEqual(['rename file d e', 'modify file e/x/f', 'modify file dx'])
  })

  test('goes on holding back what it takes along for as long as it would have been: what was written first is told first', () => {
    const { it, told } = quiet()
    it.take([modify('a')])
    vi.advanceTimersByTime(60)
    it.take([modify('b')])
    it.take([rename('a', 'c')])
    vi.advanceTimersByTime(41)
    expect(told()).toEqual(['rename file a c', 'modify file c'])
  })

  test('over a file drops what is held back of it', () => {
    const { it, told } = quiet()
    it.take([modify('c'), rename('d', 'c', true)])
    vi.advanceTimersByTime(101)
    expect(told()).toEqual(['rename file d c replaced'])
  })
})

describe('a delete', () => {
  test('drops what is held back of it, and below it', () => {
    const { it, told } = quiet()
    it.take([modify('d/f'), modify('d'), modify('d2')])
    it.take([change('delete', 'd')])
    vi.advanceTimersByTime(101)
    expect(told()).toEqual(['delete file d', 'modify file d2'])
  })
})

// A link that came over a file is told as a file by its event, which does not say, and as a link when it has been looked at.
test.each<[string, Change, string]>([
  ['a rename', { ...rename('a', 'b'), kind: 'symlink' }, 'modify symlink b'],
  ['an attrib', { ...change('attrib', 'a'), kind: 'symlink' }, 'modify symlink a'],
  ['an exchange', { ...exchange('b', 'a'), kind: 'symlink' }, 'modify symlink b'],
  ['an exchange, at its other path,', { ...exchange('a', 'b'), otherKind: 'symlink' }, 'modify symlink b'],
])('what is held back has the kind that %s has told since', (_, later, expected) => {
  const { it, told } = quiet()
  it.take([modify('a')])
  it.take([later])
  vi.advanceTimersByTime(101)
  expect(told().at(-1)).toBe(expected)
})

// With 100,000 files held back and 10,000 renames, looking through all that is held for each would be 1,000,000,000 looks.
test('what happens to one path does not look at what is held back of others', () => {
  const { it, told } = quiet()
  let looks = 0
  const counted = (path: string): Change => ({
    ...modify(path),
    get path() {
      looks++
      return `/r/${path}`
    },
    set path(_) {},
  })
  it.take(Array.from({ length: 1000 }, (_, i) => counted(`d${i % 10}/f${i}`)))
  looks = 0
  for (let i = 0; i < 1000; i++)
    it.take([rename(`x${i}`, `x${i + 1}`), exchange(`x${i}`, `y${i}`), change('delete', `z${i}`)])
  it.take([rename('d0', 'e')])
  expect(looks).toBe(0)
  it.take([change('delete', 'e'), change('delete', 'd1/f1')])
  told()
  vi.advanceTimersByTime(101)
  expect(told()).toHaveLength(899)
})

test('flush tells at once, and only once', () => {
  const { it, told } = quiet()
  it.take([modify('a'), modify('b')])
  it.flush()
  expect(told()).toEqual(['modify file a', 'modify file b'])
  vi.advanceTimersByTime(1000)
  it.flush()
  expect(told()).toEqual([])
})

test('stop tells nothing more', () => {
  const { it, told } = quiet()
  it.take([modify('a')])
  it.stop()
  vi.advanceTimersByTime(1000)
  expect(told()).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})
