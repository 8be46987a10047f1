import { describe, expect, test } from 'vitest'
import { RecheckQueue } from '../../../src/watch/pending/recheck_queue.ts'
import { Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'

const mount = new WatchedMount('inotify', '', 1)
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
  rechecks.commit(questions)
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
  const spokenIn = rechecks.commit(questions)
  expect(spokenIn?.(a)).toEqual(new Set(['x', 'not asked']))
  expect(spokenIn?.(b)).toEqual(new Set(['z']))
  expect([...rechecks.begin()]).toEqual([
    [a, ['x']],
    [b, ['z']],
  ])
})

test('a doubt that is raised meanwhile is another', () => {
  const rechecks = new RecheckQueue()
  rechecks.add(a, 'x')
  const questions = rechecks.begin()
  rechecks.add(a, 'x')
  expect(rechecks.commit(questions)?.(a)).toEqual(new Set(['x']))
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
  expect(rechecks.commit(questions)).toBeUndefined()
  expect(rechecks.isEmpty).toBe(true)
})

test('taken back: all of it is asked about again', () => {
  const rechecks = new RecheckQueue()
  rechecks.add(a, 'x')
  rechecks.addAll(b)
  const questions = rechecks.begin()
  rechecks.abort(questions)
  expect(rechecks.begin()).toEqual(questions)
})

describe('what was written where nothing is believed to be is kept in mind', () => {
  test('until the name has been looked at, and no event has spoken of it since', () => {
    const rechecks = new RecheckQueue()
    for (const name of ['x', 'y']) rechecks.addWritten(a, name)
    rechecks.addWritten(b, 'z')
    rechecks.addAll(b)
    expect([rechecks.wasWritten(a, 'x'), rechecks.wasWritten(a, 'other')]).toEqual([true, false])
    const questions = rechecks.begin()
    expect(rechecks.wasWritten(a, 'x')).toBe(true)
    rechecks.noteEvent(a, 'y')
    const spokenIn = rechecks.commit(questions)
    const known = () => [
      rechecks.wasWritten(a, 'x'),
      rechecks.wasWritten(a, 'y'),
      rechecks.wasWritten(b, 'z'),
    ]
    // The directory may have moved, or something be short: then nothing has been compared.
    expect(known()).toEqual([true, true, true])
    for (const [directory, names] of questions)
      rechecks.settle(directory, names, spokenIn?.(directory) ?? new Set())
    expect(known()).toEqual([false, true, false])
  })

  test('when a look is taken back; not when all is looked at otherwise, or is not to be known any more', () => {
    const rechecks = new RecheckQueue()
    rechecks.addWritten(a, 'x')
    rechecks.addWritten(b, 'x')
    rechecks.abort(rechecks.begin())
    expect(rechecks.wasWritten(a, 'x')).toBe(true)
    rechecks.forget((directory) => directory === a)
    expect([rechecks.wasWritten(a, 'x'), rechecks.wasWritten(b, 'x')]).toEqual([false, true])
    rechecks.clear()
    expect(rechecks.wasWritten(b, 'x')).toBe(false)
  })
})

describe('what is said of a name goes with what has left it', () => {
  const has = (rechecks: RecheckQueue, name: string) => [
    rechecks.wasWritten(b, name),
    rechecks.wasSwapped(b, name),
  ]

  test('to where that arrives', () => {
    const rechecks = new RecheckQueue()
    rechecks.addWritten(a, 'written')
    rechecks.addSwapped(a, 'swapped')
    for (const [i, name] of ['written', 'swapped', 'other'].entries()) rechecks.noteLeft(a, name, 1 + i)
    for (const [i, name] of ['x', 'y', 'z', 'from elsewhere'].entries()) rechecks.noteArrived(b, name, 1 + i)
    expect(['x', 'y', 'z', 'from elsewhere'].map((name) => has(rechecks, name))).toEqual([
      [true, false],
      [false, true],
      [false, false],
      [false, false],
    ])
    expect(rechecks.begin().get(b)).toEqual(['x', 'y'])
  })

  test('until all has been looked at', () => {
    const rechecks = new RecheckQueue()
    rechecks.addSwapped(a, 'x')
    rechecks.noteLeft(a, 'x', 1)
    rechecks.settle(a, ['x'], new Set(['x']))
    rechecks.noteArrived(b, 'x', 1)
    expect(has(rechecks, 'x')).toEqual([false, true])
    for (const directory of [a, b]) rechecks.settle(directory, ['x'], new Set())
    rechecks.noteArrived(b, 'y', 1)
    expect(has(rechecks, 'y')).toEqual([false, false])
  })
})

// Were each name looked for among all others, it would take a minute.
test('hundreds of thousands of names that events speak of meanwhile', { timeout: 20_000 }, () => {
  const rechecks = new RecheckQueue()
  const names = Array.from({ length: 200_000 }, (_, i) => `name ${i}`)
  for (const name of names) rechecks.add(a, name)
  const questions = rechecks.begin()
  for (const name of names) rechecks.noteEvent(a, name)
  rechecks.commit(questions)
  expect(rechecks.begin().get(a)?.length).toBe(names.length)
})

test('what may be swapped with what was written may be written itself, also when the other has been settled', () => {
  const rechecks = new RecheckQueue()
  for (const name of ['x', 'y', 'z']) rechecks.addSwapped(a, name)
  expect(rechecks.settle(a, ['z'], new Set())).toEqual([])
  rechecks.addWritten(a, 'y')
  expect(rechecks.settle(a, ['y', 'never swapped'], new Set())).toEqual(['y'])
  expect(rechecks.settle(a, undefined, new Set(['x']))).toEqual([])
  expect(rechecks.settle(a, undefined, new Set())).toEqual(['x'])
  // Those were all: what comes is about others.
  rechecks.addSwapped(a, 'x')
  expect(rechecks.settle(a, ['x'], new Set())).toEqual([])
})
