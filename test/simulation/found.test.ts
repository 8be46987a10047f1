import { expect, test } from 'vitest'
import { rounds } from '../support/long.ts'
import { campaign, type Played } from './play/campaign.ts'
import { FOUND } from './play/found/found.ts'
import { FOUND_BOTH_SOURCES } from './play/found/found_both_sources.ts'
import { FOUND_EXCHANGES } from './play/found/found_exchanges.ts'
import { FOUND_FAILURES } from './play/found/found_failures.ts'
import { FOUND_FILE_LINKS } from './play/found/found_file_links.ts'
import { FOUND_LINKS } from './play/found/found_links.ts'
import { FOUND_NESTED_ROOTS } from './play/found/found_nested_roots.ts'
import { scenario } from './play/found/found_scenario.ts'
import { inWords } from './play/in_words.ts'
import { inTask, play } from './play/player.ts'
import type { Scenario } from './play/scenario.ts'
import { interleavings } from './play/sequences.ts'

const MOST_PREEMPTIONS = 2
// The plays of each schedule and its neighbours. PLAYS=300 plays 300 of them.
const MOST_PLAYS = rounds(process.env.PLAYS, { quick: 1, long: 15 })

test.each([
  ...FOUND,
  ...FOUND_EXCHANGES,
  ...FOUND_BOTH_SOURCES,
  ...FOUND_LINKS,
  ...FOUND_FILE_LINKS,
  ...FOUND_NESTED_ROOTS,
  ...FOUND_FAILURES,
])('$what', async ({ scenario }) => {
  await campaign(roundAbout(scenario), MOST_PLAYS)
})

test('what a root has told stays told when one is added around it that cannot read it at once', async () => {
  const words = await inTask(() => inWords(scenario({ fails: 2, failsAfter: 7, nesting: 'outer added' }, [])))
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
