import { expect, test } from 'vitest'
import { Doubts } from '../../../src/watch/pending/recheck_queue.ts'
import { Directory } from '../../../src/watch/tree/directory.ts'
import { Territory } from '../../../src/watch/tree/watched_mount.ts'

const territory = new Territory('inotify', '', 1)
const [a, b] = [new Directory('a', 1, territory), new Directory('b', 2, territory)]

test('names by directory, and whole directories, are asked about once', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  doubts.add(a, 'y')
  doubts.addAll(b)
  const questions = doubts.ask()
  expect([...questions]).toEqual([
    [a, ['x', 'y']],
    [b, undefined],
  ])
  // The answer is still to come.
  expect(doubts.isEmpty).toBe(false)
  doubts.answer(questions)
  expect(doubts.isEmpty).toBe(true)
})

test('a name in a directory that is in doubt as a whole needs no question of its own', () => {
  const doubts = new Doubts()
  doubts.addAll(a)
  doubts.add(a, 'x')
  expect([...doubts.ask()]).toEqual([[a, undefined]])
})

test('what an event has spoken of meanwhile is not answered, and stays in doubt', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  doubts.add(a, 'y')
  doubts.addAll(b)
  const questions = doubts.ask()
  for (const [directory, name] of [
    [a, 'x'],
    [a, 'not asked'],
    [b, 'z'],
  ] as const)
    doubts.speakOf(directory, name)
  const spokenIn = doubts.answer(questions)
  expect(spokenIn?.(a)).toEqual(new Set(['x', 'not asked']))
  expect(spokenIn?.(b)).toEqual(new Set(['z']))
  expect([...doubts.ask()]).toEqual([
    [a, ['x']],
    [b, ['z']],
  ])
})

test('a doubt that is raised meanwhile is another', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  const questions = doubts.ask()
  doubts.add(a, 'x')
  expect(doubts.answer(questions)?.(a)).toEqual(new Set(['x']))
  expect([...doubts.ask()]).toEqual([[a, ['x']]])
})

test('what nobody asked about is spoken of without leaving a trace', () => {
  const doubts = new Doubts()
  doubts.speakOf(a, 'x')
  expect(doubts.isEmpty).toBe(true)
})

test('cleared: the look under way is out of date', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  const questions = doubts.ask()
  doubts.clear()
  expect(doubts.answer(questions)).toBeUndefined()
  expect(doubts.isEmpty).toBe(true)
})

test('taken back: all of it is asked about again', () => {
  const doubts = new Doubts()
  doubts.add(a, 'x')
  doubts.addAll(b)
  const questions = doubts.ask()
  doubts.takeBack(questions)
  expect(doubts.ask()).toEqual(questions)
})
