import { expect, test } from 'vitest'
import { Directory } from '../../src/watch/directory.ts'
import { Doubts } from '../../src/watch/doubts.ts'
import { Territory } from '../../src/watch/territory.ts'

const territory = new Territory('inotify', '', 1)
const [a, b] = [new Directory('a', 1, territory), new Directory('b', 2, territory)]

test('what is held is taken out, once', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  doubts.add(a, 'y')
  doubts.add(b, 'x')
  const take = doubts.hold()
  expect(doubts.isEmpty).toBe(false)
  expect([...take()]).toEqual([
    [a, ['x', 'y']],
    [b, ['x']],
  ])
  expect(doubts.isEmpty).toBe(true)
  expect(take().size).toBe(0)
})

test('what comes up, is renewed or is resolved meanwhile is not taken out', () => {
  const doubts = new Doubts()
  for (const name of ['renewed', 'resolved', 'open']) doubts.add(a, name)
  const take = doubts.hold()
  doubts.add(a, 'renewed')
  doubts.remove(a, 'resolved')
  doubts.add(a, 'new')
  doubts.add(b, 'new')
  expect([...take()]).toEqual([[a, ['open']]])
  expect([...doubts.hold()()]).toEqual([
    [a, ['renewed', 'new']],
    [b, ['new']],
  ])
})

test('resolved and raised again is another doubt', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  const take = doubts.hold()
  doubts.remove(a, 'x')
  expect(doubts.isEmpty).toBe(true)
  doubts.add(a, 'x')
  expect(take().size).toBe(0)
  expect(doubts.isEmpty).toBe(false)
})

test('two that are held at once: the first takes', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  const [first, second] = [doubts.hold(), doubts.hold()]
  expect([first().size, second().size]).toEqual([1, 0])
})

test('cleared, and removals of what nobody doubted', () => {
  const doubts = new Doubts()
  doubts.remove(a, 'x')
  doubts.add(a, 'x')
  doubts.remove(a, 'y')
  expect(doubts.isEmpty).toBe(false)
  const take = doubts.hold()
  doubts.clear()
  expect([doubts.isEmpty, take().size]).toEqual([true, 0])
})
