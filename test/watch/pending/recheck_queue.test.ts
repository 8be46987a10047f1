import { describe, expect, test } from 'vitest'
import { RecheckQueue } from '../../../src/watch/pending/recheck_queue.ts'
import { Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'

const mount = new WatchedMount({ backend: 'inotify', why: '' }, 1)
const [a, b] = [new Directory('a', 1, mount), new Directory('b', 2, mount)]

test('names by directory, and whole directories, are asked about once', () => {
  const rechecks = new RecheckQueue()
  rechecks.add(a, 'x')
  rechecks.add(a, 'y')
  rechecks.addAll(b)
  const questions = rechecks.begin()
  expect([...questions]).toEqual([
    [a, ['x', 'y']],
    [b, undefined],
  ])
  // The answer is still to come.
  expect(rechecks.isEmpty).toBe(false)
  expect(rechecks.end(questions)).toBe(true)
  for (const directory of [a, b]) rechecks.settle(directory)
  expect(rechecks.isEmpty).toBe(true)
})

test('a name in a directory that is in doubt as a whole needs no question of its own', () => {
  const rechecks = new RecheckQueue()
  rechecks.addAll(a)
  rechecks.add(a, 'x')
  expect([...rechecks.begin()]).toEqual([[a, undefined]])
})

test('what an event has spoken of meanwhile is not answered, and stays in doubt', () => {
  const rechecks = new RecheckQueue()
  rechecks.add(a, 'x')
  rechecks.add(a, 'y')
  rechecks.addAll(b)
  const questions = rechecks.begin()
  for (const [directory, name] of [
    [a, 'x'],
    [a, 'not asked'],
    [b, 'z'],
  ] as const)
    rechecks.noteEvent(directory, name)
  rechecks.end(questions)
  expect([a, b].map((directory) => [...rechecks.spokenIn(directory)])).toEqual([['x'], ['z']])
  for (const directory of [a, b]) rechecks.settle(directory)
  expect([...rechecks.begin()]).toEqual([
    [a, ['x']],
    [b, ['z']],
  ])
})

test('a doubt that is raised meanwhile is another, of a whole directory as well', () => {
  const rechecks = new RecheckQueue()
  rechecks.add(a, 'x')
  rechecks.addAll(b)
  const questions = rechecks.begin()
  rechecks.add(a, 'x')
  rechecks.addAll(b)
  rechecks.noteEvent(b, 'y')
  rechecks.end(questions)
  expect([a, b].map((directory) => [...rechecks.spokenIn(directory)])).toEqual([['x'], ['', 'y']])
  for (const directory of [a, b]) rechecks.settle(directory)
  expect([...rechecks.begin()]).toEqual([
    [a, ['x']],
    [b, undefined],
  ])
})

test('a doubt that the answer itself raises is no event: what was seen of the name counts, and it is looked at once more', () => {
  const rechecks = new RecheckQueue()
  rechecks.add(a, 'x')
  rechecks.end(rechecks.begin())
  rechecks.add(a, 'x')
  expect([...rechecks.spokenIn(a)]).toEqual([])
  rechecks.settle(a)
  expect([...rechecks.begin()]).toEqual([[a, ['x']]])
})

test('what nobody asked about is spoken of without leaving a trace', () => {
  const rechecks = new RecheckQueue()
  rechecks.noteEvent(a, 'x')
  expect(rechecks.isEmpty).toBe(true)
})

test('cleared: the look under way is out of date', () => {
  const rechecks = new RecheckQueue()
  rechecks.add(a, 'x')
  const questions = rechecks.begin()
  rechecks.clear()
  expect(rechecks.end(questions)).toBe(false)
  expect(rechecks.isEmpty).toBe(true)
})

test('what nobody could look at stays in doubt', () => {
  const rechecks = new RecheckQueue()
  rechecks.add(a, 'x')
  rechecks.addAll(b)
  const questions = rechecks.begin()
  rechecks.end(questions)
  expect(rechecks.begin()).toEqual(questions)
})

describe('a file that may have been written without a report is kept in mind', () => {
  test('until the name has been looked at, and no event has spoken of it since', () => {
    const rechecks = new RecheckQueue()
    for (const name of ['x', 'y']) rechecks.addWritten(a, name)
    rechecks.addWritten(b, 'z')
    rechecks.addAll(b)
    expect([rechecks.mayBeWritten(a, 'x'), rechecks.mayBeWritten(a, 'other')]).toEqual([true, false])
    const questions = rechecks.begin()
    expect(rechecks.mayBeWritten(a, 'x')).toBe(true)
    rechecks.noteEvent(a, 'y')
    rechecks.end(questions)
    const known = () => [
      rechecks.mayBeWritten(a, 'x'),
      rechecks.mayBeWritten(a, 'y'),
      rechecks.mayBeWritten(b, 'z'),
    ]
    // The directory may have moved, or a resource may be short. Then nothing has been compared.
    expect(known()).toEqual([true, true, true])
    expect([...questions.keys()].map((directory) => rechecks.settle(directory))).toEqual([['x'], ['z']])
    expect(known()).toEqual([false, true, false])
  })

  test('when nobody could look; not when all is looked at otherwise, or is not to be known any more', () => {
    const rechecks = new RecheckQueue()
    rechecks.addWritten(a, 'x')
    rechecks.addWritten(b, 'x')
    rechecks.end(rechecks.begin())
    expect(rechecks.mayBeWritten(a, 'x')).toBe(true)
    rechecks.forget((directory) => directory === a)
    expect([rechecks.mayBeWritten(a, 'x'), rechecks.mayBeWritten(b, 'x')]).toEqual([false, true])
    rechecks.clear()
    expect(rechecks.mayBeWritten(b, 'x')).toBe(false)
  })
})

// A search among all other names for each would take a minute.
test('hundreds of thousands of names that events speak of meanwhile', { timeout: 20_000 }, () => {
  const rechecks = new RecheckQueue()
  const names = Array.from({ length: 200_000 }, (_, i) => `name ${i}`)
  for (const name of names) rechecks.add(a, name)
  const questions = rechecks.begin()
  for (const name of names) rechecks.noteEvent(a, name)
  rechecks.end(questions)
  rechecks.settle(a)
  expect(rechecks.begin().get(a)?.length).toBe(names.length)
})

test('a file that may be swapped with one that was written may be written itself, also when the other has been settled', () => {
  const rechecks = new RecheckQueue()
  /** Returns the names that a look settles while events name some names. */
  const settled = (directory: Directory, ...spoken: string[]) => {
    rechecks.begin()
    for (const name of spoken) rechecks.noteEvent(directory, name)
    return rechecks.settle(directory)
  }
  for (const name of ['x', 'y', 'z']) rechecks.addSwapped(a, name)
  expect(settled(a, 'x', 'y')).toEqual([])
  rechecks.noteWritten(a, 'never swapped')
  expect(rechecks.mayBeWritten(a, 'y')).toBe(false)
  rechecks.noteWritten(a, 'y')
  expect(rechecks.mayBeWritten(a, 'x')).toBe(true)
  expect(settled(a, 'x')).toEqual(['y'])
  expect(settled(a, 'x')).toEqual([])
  expect(settled(a)).toEqual(['x'])
  // All swapped names are settled. The next ones are independent.
  rechecks.addSwapped(a, 'x')
  expect(settled(a)).toEqual([])
})
