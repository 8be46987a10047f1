import { expect, test } from 'vitest'
import { PollInterval } from '../../../src/watch/poll/poll_interval.ts'

function polling(interval: number) {
  const warnings: string[] = []
  const pollInterval = new PollInterval(interval, (warning) => warnings.push(warning))
  return { pollInterval, warnings }
}

test('sooner after something was found, and twice as late each time until it is as usual', () => {
  const { pollInterval } = polling(250)
  const rests = [true, false, false, false, true].map((found) => {
    pollInterval.note(found, 1)
    return pollInterval.rest
  })
  expect(rests).toEqual([50, 100, 200, 250, 50])
  pollInterval.settle()
  expect(pollInterval.rest).toBe(250)
})

test.each([
  [20, 10],
  [5, 5],
])('with an interval of %i ms not sooner than after %i', (interval, soonest) => {
  const { pollInterval } = polling(interval)
  pollInterval.note(true, 0)
  expect(pollInterval.rest).toBe(soonest)
})

test('for half of the time at most', () => {
  const { pollInterval } = polling(250)
  pollInterval.note(true, 120)
  expect(pollInterval.rest).toBe(120)
  pollInterval.note(false, 900)
  expect(pollInterval.rest).toBe(900)
})

test('that it is slow is said, and again when it has not been for a while', () => {
  const { pollInterval, warnings } = polling(250)
  const slow = [200, 900, 260, 240, 300, 100, 251].map((took) => {
    pollInterval.note(false, took)
    return pollInterval.slowness !== undefined
  })
  expect(slow).toEqual([false, true, true, true, true, false, true])
  expect(warnings).toEqual([900, 251].map((took) => `polled every 250 ms: the last pass took ${took} ms`))
})
