import { expect, test } from 'vitest'
import { IN_CREATE, IN_MOVED_FROM, IN_MOVED_TO } from '../../../src/index.ts'
import { JoinedBatch } from '../../../src/watch/events/joined_batch.ts'
import { batchOf } from './batches.ts'

const first = batchOf([
  [1, IN_CREATE, 'left out'],
  [1, IN_MOVED_FROM, '\udcff', 7],
])
const second = batchOf([
  [1, IN_CREATE, 'left out'],
  [2, IN_MOVED_TO, 'b', 7],
  [3, IN_CREATE, 'c'],
  [1, IN_CREATE, 'left out'],
])
const joined = new JoinedBatch({ batch: first, start: 1, end: 2 }, { batch: second, start: 1, end: 3 })

test('the events of two reads, as if of one', () => {
  expect([...joined]).toEqual([
    { wd: 1, mask: IN_MOVED_FROM, cookie: 7, name: '\ufffd' },
    { wd: 2, mask: IN_MOVED_TO, cookie: 7, name: 'b' },
    { wd: 3, mask: IN_CREATE, cookie: 0, name: 'c' },
  ])
  expect(joined.nameBytes(0)).toEqual(Buffer.from([0xff]))
  expect(joined.nameBytes(2)).toEqual(Buffer.from('c'))
})

test.each([-1, 3, 0.5])('there is no event %d', (i) => {
  expect(() => joined.wd(i)).toThrow(RangeError)
  expect(() => joined.name(i)).toThrow(RangeError)
})
