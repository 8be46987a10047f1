import { expect, test } from 'vitest'
import { Directory } from '../../src/watch/directory.ts'
import { Doubts } from '../../src/watch/doubts.ts'
import { Territory } from '../../src/watch/territory.ts'

const territory = new Territory('inotify', '', 1)
const [a, b] = [new Directory('a', 1, territory), new Directory('b', 2, territory)]

test('all of them, by directory', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  doubts.add(a, 'y')
  doubts.add(b, 'x')
  expect(doubts.all).toEqual([
    [a, ['x', 'y']],
    [b, ['x']],
  ])
})

test('what is held is taken out, once', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  doubts.add(b, 'x')
  const take = doubts.hold(a)
  expect(doubts.all).toHaveLength(2)
  expect(take()).toEqual(['x'])
  expect(doubts.all).toEqual([[b, ['x']]])
  expect(take()).toEqual([])
})

test('what comes up, is renewed or is resolved meanwhile is not taken out', () => {
  const doubts = new Doubts()
  for (const name of ['renewed', 'resolved', 'open']) doubts.add(a, name)
  const take = doubts.hold(a)
  doubts.add(a, 'renewed')
  doubts.remove(a, 'resolved')
  doubts.add(a, 'new')
  expect(take()).toEqual(['open'])
  expect(doubts.all).toEqual([[a, ['renewed', 'new']]])
})

test('resolved and raised again is another doubt', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  const take = doubts.hold(a)
  doubts.remove(a, 'x')
  expect(doubts.isEmpty).toBe(true)
  doubts.add(a, 'x')
  expect(take()).toEqual([])
  expect(doubts.isEmpty).toBe(false)
})

test('cleared, and removals of what nobody doubted', () => {
  const doubts = new Doubts()
  doubts.remove(a, 'x')
  doubts.add(a, 'x')
  doubts.remove(a, 'y')
  expect(doubts.isEmpty).toBe(false)
  const take = doubts.hold(a)
  doubts.clear()
  expect([doubts.isEmpty, take()]).toEqual([true, []])
})
