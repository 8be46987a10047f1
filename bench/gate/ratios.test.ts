// Measures the parts that counting instructions leaves out: JavaScript, the way from the kernel and back, and
// threads. Each part is compared with a C program that does the same, in interleaved rounds, and by processor
// time if possible.
//
// The bounds are wide, a quarter or more beyond the measured figures, because the machine may be busy. Some
// machines have twice the time in the kernel in one run as in the next, where reader and writer wait for the
// same lock: there a storm is measured at 1.2 to 2.0, a tree at 1.4 to 1.6. A figure out of bounds is measured
// again. The questions are those of bench/questions.
import { afterAll, expect, test } from 'vitest'
import { ask, type Question } from '../question.mjs'
import { capacity } from '../questions/events/capacity.mjs'
import { storm } from '../questions/events/storm.mjs'
import { poll } from '../questions/trees/poll.mjs'
import { setUp } from '../questions/trees/set_up.mjs'
import { makeScratch } from '../scratch.mjs'

const ROUNDS = 3
const OURS = 'inotify-bridge'

const scratch = makeScratch()
afterAll(scratch.remove)
const peers = { programs: new Map<string, string>(), versions: [], missing: [] }

async function ratioOf(question: Question, figure: string, yardstick: string): Promise<number> {
  const subjects = [yardstick, OURS]
  const { ratios } = await ask({ ...question, subjects, targets: [] }, ROUNDS, { scratch, peers }, () => {})
  const ratio = ratios[OURS]?.[figure]?.[yardstick] ?? Number.NaN
  process.stdout.write(`${question.name}: ${figure} is ${ratio.toFixed(2)} times that of ${yardstick}\n`)
  return ratio
}

test('CPU an event of a storm', { retry: 2 }, async () => {
  expect(await ratioOf(storm, 'cpu', 'raw C + window')).toBeLessThan(2.2)
})

test('events a second out of a full queue', { retry: 2 }, async () => {
  expect(await ratioOf(capacity, 'rate', 'raw C')).toBeGreaterThan(0.55)
})

test('CPU until a tree is watched', { retry: 2 }, async () => {
  expect(await ratioOf(setUp, 'cpu', 'raw C')).toBeLessThan(2.1)
})

test('CPU a poll that finds nothing new', { retry: 2 }, async () => {
  expect(await ratioOf(poll, 'cpu', 'raw C')).toBeLessThan(1.4)
})
