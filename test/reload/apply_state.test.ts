import { expect, test } from 'vitest'
import { ApplyState } from '../../src/reload/apply_state.ts'
import { type Contents, contentsOf, leadsOutward } from '../../src/reload/contents.ts'

const holding = (keys: Record<string, string>): Contents => contentsOf(new Map(Object.entries(keys)))
const [one, two, three] = [
  holding({ a: '1', b: '1' }),
  holding({ a: '2', b: '1' }),
  holding({ a: '1', b: '3', c: '1' }),
]
const failed = (stage: 'validate' | 'action') => ({ stage, reason: '', output: '' })

test('what is in use already is not acted upon, and what is another is', () => {
  const ledger = new ApplyState(one)
  expect(ledger.judge(one)).toBe('rest')
  expect(ledger.judge(two)).toBe('act')
  expect(ledger.succeeded(two)).toEqual(['a'])
  expect(ledger.judge(two)).toBe('rest')
  expect(ledger.judge(one)).toBe('act')
})

test('going back after a failed action is a reload, of all that has been tried', () => {
  const ledger = new ApplyState(one)
  ledger.failed(two, failed('action'))
  expect(ledger.judge(two)).toBe('act')
  expect(ledger.judge(one)).toBe('act')
  ledger.failed(three, failed('action'))
  // A failed validation does not undo what was tried before.
  ledger.failed(two, failed('validate'))
  expect(ledger.judge(one)).toBe('act')
  expect(ledger.succeeded(one)).toEqual(['a', 'b', 'c'])
  expect([ledger.judge(one), ledger.failing]).toEqual(['rest', undefined])
})

test('of what was tried, names that have gone again are not kept without end', () => {
  const ledger = new ApplyState(one)
  for (let n = 0; n < 3; n++) ledger.failed(holding({ a: '1', [`new${n}`]: '' }), failed('action'))
  expect(ledger.succeeded(holding({ a: '1', b: '1', new2: '' }))).toEqual(['b', 'new2'])
})

test('going back after a failed validation is the end of the failure, and nothing else', () => {
  const ledger = new ApplyState(one)
  ledger.failed(two, failed('validate'))
  expect([ledger.judge(two), ledger.failing?.stage]).toEqual(['act', 'validate'])
  expect([ledger.judge(two, false), ledger.judge(three, false), ledger.judge(one, false)], 'not due').toEqual(
    ['rest', 'act', 'recover'],
  )
  expect([ledger.judge(one), ledger.failing], 'told once').toEqual(['rest', undefined])
})

test('where nothing was in use, all that comes is a change', () => {
  const ledger = new ApplyState(undefined)
  expect(ledger.judge(one)).toBe('act')
  expect(ledger.succeeded(one)).toEqual(['a', 'b'])
})

test('the digest is of names and what they hold, and of nothing that lies between them', () => {
  const digests = [{ a: 'bc' }, { ab: 'c' }, { a: 'b', c: '' }, {}, { a: 'bc' }].map(holding)
  expect(new Set(digests.map(({ digest }) => digest)).size).toBe(4)
  expect(digests[0]?.digest).toMatch(/^[0-9a-f]{64}$/)
})

test('which links lead out of their directory', () => {
  const links = ['..data/a', 'a', '/a', '../a', 'a/../b', '..']
  expect(links.filter(leadsOutward)).toEqual(links.slice(2))
})
