import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type Change,
  type EntryChange,
  type ExchangeChange,
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_MODIFY,
  IN_MOVED_TO,
  type Kind,
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

function quiet(time: number | 'save' = 100) {
  const changes: Change[] = []
  const it = new ModifyDebounce(time === 'save' ? undefined : time, systemClock, (batch) =>
    changes.push(...batch),
  )
  /** Returns the changes since the last call. */
  const told = () => changes.splice(0).map((each) => inWords(each, '/r'))
  return { it, changes, told }
}

const exchange = (path: string, other: string, kind: Kind = 'file'): ExchangeChange => ({
  type: 'exchange',
  path: `/r/${path}`,
  other: `/r/${other}`,
  kind,
  otherKind: 'file',
  mask: 0,
  source: 'inotify',
})

describe('an exchange', () => {
  test.each([
    ['one', 'file', ['a'], ['b']],
    ['the other', 'file', ['b'], ['a']],
    ['both', 'file', ['a', 'b'], ['a', 'b']],
    ['what is below one', 'directory', ['a/x'], ['b/x']],
    ['what is below both', 'directory', ['a/x', 'b/y', 'ab'], ['a/y', 'ab', 'b/x']],
  ] as const)('takes what is held of %s along', (_, kind, held, later) => {
    const { it, told } = quiet()
    it.take(held.map((path) => modify(path)))
    it.take([exchange('b', 'a', kind)])
    expect(told()).toHaveLength(1)
    vi.advanceTimersByTime(150)
    expect(
      told()
        .map((each) => each.split(' ').at(-1))
        .toSorted(),
    ).toEqual(later)
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
      { type: 'restored', path: '/r', kind: 'directory', source: 'poll' },
    ])
    expect(told()).toEqual(['create file a', 'attrib file a', 'restored .'])
    vi.advanceTimersByTime(101)
    expect(told()).toEqual(['modify file a'])
  })

  test('of what lies in a root that is lost is told before that', () => {
    const { it, told } = quiet()
    it.take([
      modify('a'),
      modify('d/b'),
      { type: 'lost', path: '/r', kind: 'directory', reason: 'deleted', source: 'poll' },
    ])
    expect(told()).toEqual(['modify file a', 'modify file d/b', 'lost .'])
    vi.advanceTimersByTime(101)
    expect(told()).toEqual([])
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
    it.take([{ ...rename('d', 'e'), kind: 'directory' }])
    vi.advanceTimersByTime(101)
    expect(told()).toEqual(['rename directory d e', 'modify file e/x/f', 'modify file dx'])
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
    it.take([{ ...change('delete', 'd'), kind: 'directory' }])
    vi.advanceTimersByTime(101)
    expect(told()).toEqual(['delete directory d', 'modify file d2'])
  })
})

describe('without a time, a save is one change:', () => {
  const SAVE_MS = 50
  const create = (path: string) => ({ ...change('create', path), mask: IN_CREATE })
  const begun = () => quiet('save')

  test.each<[string, Change[], Change[]]>([
    [
      'a modify waits for its IN_CLOSE_WRITE',
      [modify('a'), modify('a'), modify('a', IN_CLOSE_WRITE)],
      [modify('a', IN_MODIFY | IN_CLOSE_WRITE)],
    ],
    [
      'so does the create of a file, with an attrib',
      [create('a'), modify('a'), { ...change('attrib', 'a'), mask: IN_ATTRIB }, modify('a', IN_CLOSE_WRITE)],
      [{ ...create('a'), mask: IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE }],
    ],
    [
      'an IN_CLOSE_WRITE alone waits for nothing',
      [modify('a', IN_CLOSE_WRITE)],
      [modify('a', IN_CLOSE_WRITE)],
    ],
    ['nor does what a poll has found', [modify('a', 0)], [modify('a', 0)]],
    ['which ends a save', [modify('a'), modify('a', 0)], [modify('a', IN_MODIFY)]],
    [
      'two saves that are read together are one',
      [modify('a', 10), modify('a'), modify('a', 8)],
      [modify('a', 10)],
    ],
    [
      'what was moved here is whole',
      [{ ...create('a'), mask: IN_MOVED_TO }],
      [{ ...create('a'), mask: IN_MOVED_TO }],
    ],
    ['so is what was listed', [change('create', 'a')], [change('create', 'a')]],
    [
      'a directory is no file',
      [{ ...create('a'), kind: 'directory' }],
      [{ ...create('a'), kind: 'directory' }],
    ],
  ])('%s', (_, changes, expected) => {
    const { it, changes: reported } = begun()
    it.take(structuredClone(changes))
    expect(reported).toEqual(expected)
    vi.advanceTimersByTime(1000)
    expect(reported).toEqual(expected)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a writer that goes on is told of each 50 ms', () => {
    const { it, changes } = begun()
    for (let ms = 0; ms < 10 * SAVE_MS; ms += 10) {
      it.take([modify('a')])
      vi.advanceTimersByTime(10)
    }
    vi.advanceTimersByTime(SAVE_MS)
    expect(changes.length).toBeGreaterThanOrEqual(8)
    expect(changes.length).toBeLessThanOrEqual(10)
  })

  test.each<[string, Change, string[]]>([
    ['delete', change('delete', 'd/a'), ['create file d/a', 'delete file d/a']],
    ['rename', rename('d/a', 'b'), ['create file d/a', 'rename file d/a b']],
    ['replaced', rename('b', 'd/a', true), ['create file d/a', 'rename file b d/a replaced']],
    ['exchange', exchange('b', 'd/a'), ['create file d/a', 'exchange file b file d/a']],
    ['above', { ...rename('d', 'e'), kind: 'directory' }, ['create file d/a', 'rename directory d e']],
    [
      'gone above',
      { ...change('delete', 'd'), kind: 'directory' },
      ['create file d/a', 'delete directory d'],
    ],
    [
      'lost',
      { type: 'lost', path: '/r', kind: 'directory', reason: 'deleted', source: 'poll' },
      ['create file d/a', 'lost .'],
    ],
    ['elsewhere', { ...rename('da', 'x') }, ['rename file da x']],
    ['a mode above', { ...change('attrib', 'd'), kind: 'directory' }, ['attrib directory d']],
  ])('a create that waits is told before what is about it: %s', (_, later, expected) => {
    const { it, told } = begun()
    it.take([create('d/a'), modify('d/a')])
    expect(told()).toEqual([])
    expect(it.holdsCreate('/r/d/a')).toBe(true)
    it.take([later])
    expect(told()).toEqual(expected)
    const isTold = expected[0] === 'create file d/a'
    expect(it.holdsCreate('/r/d/a')).toBe(!isTold)
    vi.advanceTimersByTime(SAVE_MS + 1)
    expect(told()).toEqual(isTold ? [] : ['create file d/a'])
  })

  test('a modify that waits goes where its path goes, or with it', () => {
    const { it, told } = begun()
    it.take([modify('d/a'), modify('b'), { ...rename('d', 'e'), kind: 'directory' }, change('delete', 'b')])
    expect(told()).toEqual(['rename directory d e', 'delete file b'])
    it.take([modify('e/a', IN_CLOSE_WRITE)])
    expect(told()).toEqual(['modify file e/a'])
  })

  test('flush tells at once', () => {
    const { it, told } = begun()
    it.take([create('a'), modify('b'), modify('a')])
    it.flush()
    expect(told()).toEqual(['create file a', 'modify file b'])
  })
})

// The event of a link that replaces a file does not tell the kind, so the link is told as a file first, and
// as a link after a look.
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

// With 100,000 files held back and 10,000 renames, a search of all held files for each rename would be
// 1,000,000,000 looks.
test('what happens to one file does not look at what is held back of others', () => {
  const { it, told } = quiet()
  let looks = 0
  const counted = (name: string): Change => {
    let path = `/r/${name}`
    return {
      ...modify(name),
      get path() {
        looks++
        return path
      },
      set path(other) {
        path = other
      },
    }
  }
  it.take(Array.from({ length: 1000 }, (_, i) => counted(`d${i % 10}/f${i}`)))
  looks = 0
  for (let i = 0; i < 1000; i++)
    it.take([rename(`x${i}`, `x${i + 1}`), exchange(`x${i}`, `y${i}`), change('delete', `z${i}`)])
  expect(looks).toBe(0)
  it.take([{ ...rename('d0', 'e'), kind: 'directory' }])
  it.take([{ ...change('delete', 'e'), kind: 'directory' }, change('delete', 'd1/f1')])
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
