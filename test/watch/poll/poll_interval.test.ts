import { expect, test } from 'vitest'
import { PollInterval } from '../../../src/watch/poll/poll_interval.ts'

function pacing(interval: number) {
  const warnings: string[] = []
  const pace = new PollInterval(interval, (warning) => warnings.push(warning))
  return { pace, warnings }
}

test('sooner after something was found, and twice as late each time until it is as usual', () => {
  const { pace } = pacing(250)
  const rests = [true, false, false, false, true].map((found) => {
    pace.note(found, 1)
    return pace.rest
  })
  expect(rests).toEqual([50, 100, 200, 250, 50])
  pace.settle()
  expect(pace.rest).toBe(250)
})

test.each([
  [20, 10],
  [5, 5],
])('with an interval of %i ms not sooner than after %i', (interval, soonest) => {
  const { pace } = pacing(interval)
  pace.note(true, 0)
  expect(pace.rest).toBe(soonest)
})

test('for half of the time at most', () => {
  const { pace } = pacing(250)
  pace.note(true, 120)
  expect(pace.rest).toBe(120)
  pace.note(false, 900)
  expect(pace.rest).toBe(900)
})

test('that it is slow is said, and again when it has not been for a while', () => {
  const { pace, warnings } = pacing(250)
  const slow = [200, 900, 260, 240, 300, 100, 251].map((took) => {
    pace.note(false, took)
    return pace.slowness !== undefined
  })
  expect(slow).toEqual([false, true, true, true, true, false, true])
  expect(warnings).toEqual([900, 251].map((took) => `polled every 250 ms: the last pass took ${took} ms`))
})
