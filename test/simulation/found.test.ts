import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { rounds } from '../support/long.ts'
import { campaign, type Played } from './play/campaign.ts'
import { inWords } from './play/in_words.ts'
import { inTask, play } from './play/player.ts'
import type { Scenario } from './play/scenario.ts'
import { type Schedule, scenarioOf } from './play/schedule.ts'
import { interleavings } from './play/sequences.ts'

const MOST_PREEMPTIONS = 2
// The plays of each schedule and its neighbours. PLAYS=300 plays 300 of them.
const MOST_PLAYS = rounds(process.env.PLAYS, { quick: 1, long: 10 })

const found: Array<Schedule & { what: string }> = parse(
  readFileSync(join(import.meta.dirname, 'found.yaml'), 'utf8'),
)

test.each(found)('$what', async (schedule) => {
  await campaign(roundAbout(scenarioOf(schedule)), MOST_PLAYS)
})

test('what a root has told stays told when one is added around it that cannot read it at once', async () => {
  const words = await inTask(() =>
    inWords(scenarioOf({ with: { fails: 2, failsAfter: 7, nesting: 'outer added' } })),
  )
  expect(words).toMatch(/fails to open \/t\/b[: ]/)
  expect(words).toMatch(/told: create \/t\/a \(rescan\)/)
  expect(words).not.toMatch(/delete|lost/)
})

/**
 * Yields the schedule, then other interleavings of its operations: one more step of the engine shifts the
 * meaning of all later choices.
 */
function* roundAbout(scenario: Scenario): Generator<Played> {
  yield [scenario, play(scenario).wrong]
  yield* interleavings({ ...scenario, choices: [] }, MOST_PREEMPTIONS)
}
