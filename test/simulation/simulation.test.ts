import { describe, expect, test } from 'vitest'
import { isLong, rounds } from '../support/long.ts'
import { randomFrom } from '../watch/support.ts'
import { campaign, type Played } from './play/campaign.ts'
import { wholeStory } from './play/in_words.ts'
import { inTask, play } from './play/player.ts'
import { SUBJECTS, scenarioFrom } from './play/random_scenario.ts'
import { decode } from './play/schedule.ts'
import { interleavings, scenariosOf, WAYS } from './play/sequences.ts'

const { SCHEDULE, SCHEDULES, SEED = '1' } = process.env

const most = rounds(SCHEDULES, { quick: 40, long: 400 })
// With at least this many schedules, each part but the random one is played as a whole.
const ALL = 1_000_000
const mostInSequence = most >= ALL ? Number.POSITIVE_INFINITY : most
// Plays every pair. Without SCHEDULES, a part of their preemptions.
const mostOfPairs = most >= ALL ? mostInSequence : ALL - 1
// With fewer than ALL, one in 5 preemptions is played.
const SOME = 5
// The ways of watching other than events alone.
const OTHER_WAYS = (Object.keys(WAYS) as Array<keyof typeof WAYS>).filter((way) => way !== 'events')
const SHORT = [
  { operations: 1, preemptions: 2, isAtomic: false },
  { operations: 2, preemptions: 2, isAtomic: true },
  { operations: 2, preemptions: 1, isAtomic: false },
  { operations: 3, preemptions: 1, isAtomic: true },
]
const timeout = 300_000 + 20 * most

describe.skipIf(SCHEDULE !== undefined)('no change is lost, and each fits what was told before', () => {
  test.each([
    { operations: 1, preemptions: 2, isAtomic: false, count: Number.POSITIVE_INFINITY },
    { operations: 2, preemptions: 2, isAtomic: true, count: isLong ? mostOfPairs : mostInSequence },
    { operations: 2, preemptions: 1, isAtomic: false, count: mostInSequence },
    { operations: 3, preemptions: 2, isAtomic: true, count: mostInSequence },
    { operations: 4, preemptions: 1, isAtomic: true, count: mostInSequence },
  ])(
    'sequences of $operations, $preemptions preemptions, calls in one step: $isAtomic',
    { timeout },
    async ({ operations, preemptions, isAtomic, count }) => {
      await campaign(everyInterleaving({ way: 'events', operations, isAtomic, preemptions, count }), count)
    },
  )

  test.each(OTHER_WAYS.flatMap((way) => SHORT.map((each) => ({ way, ...each }))))(
    'sequences of $operations, $preemptions preemptions, calls in one step: $isAtomic, $way',
    { timeout },
    async (sequences) => {
      const count = Math.ceil(mostInSequence / SHORT.length)
      await campaign(everyInterleaving({ ...sequences, count }), count)
    },
  )

  test.each(SUBJECTS)('random: %s', { timeout }, async (subject) => {
    await campaign(randomOnes(subject), Math.ceil(most / SUBJECTS.length))
  })
})

test.runIf(SCHEDULE !== undefined)('the schedule given', async () => {
  const scenario = decode(SCHEDULE ?? '')
  expect(await inTask(() => play(scenario).wrong), await inTask(() => wholeStory(scenario))).toEqual([])
})

interface Sequences {
  way: keyof typeof WAYS
  operations: number
  isAtomic: boolean
  preemptions: number
  count: number
}

function* everyInterleaving({ way, operations, isAtomic, preemptions, count }: Sequences): Generator<Played> {
  // A limited count takes some interleavings of each scenario, rather than all of the first ones.
  const random = randomFrom(1)
  const takes = () => count >= ALL || random(SOME) === 0
  for (const scenario of scenariosOf(way, operations, isAtomic))
    yield* interleavings(scenario, preemptions, takes)
}

function* randomOnes(subject: (typeof SUBJECTS)[number]): Generator<Played> {
  for (let seed = Number(SEED); ; seed++) {
    const scenario = scenarioFrom(seed, subject)
    yield [scenario, play(scenario).wrong]
  }
}
