import { expect, test } from 'vitest'
import { Unrest } from '../../src/reload/unrest.ts'

const found = (versions: Record<string, string>, moving: string[] = []) => ({
  keys: new Map<string, string>(),
  digest: '',
  outward: [],
  versions: new Map(Object.entries(versions)),
  moving: new Set(moving),
})

test('a key that has moved in four looks, one after another, is restless; until it does not move', () => {
  const unrest = new Unrest()
  for (let n = 0; n < 4; n++) {
    expect([...unrest.restless]).toEqual([])
    unrest.observe(found({ log: `${n}`, a: n === 0 ? '' : '1' }), true)
  }
  expect([[...unrest.restless], unrest.waits]).toEqual([['log'], false])
  unrest.observe(found({ log: '5', a: '2' }), true)
  expect([[...unrest.restless], unrest.waits], 'another moves, which is waited for').toEqual([['log'], true])
  unrest.observe(found({ log: '6', a: '2' }), true)
  expect(unrest.waits).toBe(false)
  unrest.observe(found({ log: '6', a: '2' }), true)
  expect([...unrest.restless]).toEqual([])
})

test('a burst that goes on from file to file has none', () => {
  const unrest = new Unrest()
  const versions: Record<string, string> = {}
  for (let n = 0; n < 9; n++) {
    versions[`f${n}`] = 'new'
    unrest.observe(found({ ...versions }), true)
    expect([unrest.restless.size, unrest.waits]).toEqual([0, true])
  }
})

test('between looks that came when all had rested, what changed is not restless; what moves while it is read is', () => {
  const unrest = new Unrest()
  for (let n = 0; n < 9; n++) unrest.observe(found({ a: `${n}`, log: `${n}` }, ['log']), false)
  expect([...unrest.restless]).toEqual(['log'])
})

test('names that come and go beside a file, without a rest, are not waited for after four looks; a new one that rests is', () => {
  const unrest = new Unrest()
  unrest.observe(found({ 'd/log': '', 'e/a': '' }), false)
  for (let n = 0; n < 6; n++) {
    expect([unrest.waits, unrest.restless.has(`d/log.${n - 1}`)]).toEqual([0 < n && n < 5, n >= 5])
    unrest.observe(found({ 'd/log': `${n}`, [`d/log.${n}`]: '', 'e/a': '' }), true)
  }
  const last = { 'd/log': '7', 'd/log.7': '', 'e/a': '', 'e/new': '' }
  unrest.observe(found(last), true)
  expect([[...unrest.restless], unrest.waits]).toEqual([['d/log', 'd/log.7'], true])
  unrest.observe(found(last), true)
  expect([...unrest.restless]).toEqual([])
})

test('a key that rests at each look, but has changed whenever the content of the look was looked at again, is restless; until it has not', () => {
  const unrest = new Unrest()
  for (let n = 0; n < 4; n++) {
    for (const isBurst of [true, false]) unrest.observe(found({ a: '1', log: `${n}` }), isBurst)
    expect([unrest.restless.size, unrest.waits]).toEqual([0, false])
    unrest.observeAgain(found({ a: '1', log: `${n + 1}` }))
  }
  expect([...unrest.restless]).toEqual(['log'])
  unrest.observe(found({ a: '1', log: '4' }), false)
  unrest.observeAgain(found({ a: '1', log: '4' }))
  expect([...unrest.restless]).toEqual([])
})
