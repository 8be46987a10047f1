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
  expect([[...unrest.restless], unrest.isKnown]).toEqual([['log'], true])
  unrest.observe(found({ log: '5', a: '2' }), true)
  expect([[...unrest.restless], unrest.isKnown], 'another moves, which is waited for').toEqual([
    ['log'],
    false,
  ])
  unrest.observe(found({ log: '6', a: '2' }), true)
  expect(unrest.isKnown).toBe(true)
  unrest.observe(found({ log: '6', a: '2' }), true)
  expect([...unrest.restless]).toEqual([])
})

test('a burst that goes on from file to file has none', () => {
  const unrest = new Unrest()
  const versions: Record<string, string> = {}
  for (let n = 0; n < 9; n++) {
    versions[`f${n}`] = 'new'
    unrest.observe(found({ ...versions }), true)
    expect([unrest.restless.size, unrest.isKnown]).toEqual([0, false])
  }
})

test('between looks that came when all had rested, what changed is not restless; what moves while it is read is', () => {
  const unrest = new Unrest()
  for (let n = 0; n < 9; n++) unrest.observe(found({ a: `${n}`, log: `${n}` }, ['log']), false)
  expect([...unrest.restless]).toEqual(['log'])
})
