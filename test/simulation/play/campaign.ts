import { inWords } from './in_words.ts'
import { inTask } from './player.ts'
import type { Scenario } from './scenario.ts'
import { shrink, wayOf } from './shrink.ts'

/** A scenario, and its faults when it was played. */
export type Played = [scenario: Scenario, wrong: readonly string[]]

// The number of scenarios in one task of the event loop: the test runner must hear of this process now and
// then.
const PLAYED_AT_ONCE = 50

/**
 * Plays up to `most` scenarios. Throws an Error if any went wrong: with the number and the kinds of faults,
 * and the first scenario shrunk and in words.
 */
export async function campaign(scenarios: Iterator<Played>, most: number): Promise<void> {
  const ways = new Map<string, number>()
  let first: Scenario | undefined
  let failed = 0
  let played = 0
  const playSome = () => {
    for (let i = 0; i < PLAYED_AT_ONCE && played < most; i++) {
      const next = scenarios.next()
      if (next.done) return false
      played++
      const [scenario, wrong] = next.value
      const [way] = wrong
      if (way === undefined) continue
      failed++
      first ??= scenario
      const kind = wayOf(way)
      ways.set(kind, (ways.get(kind) ?? 0) + 1)
    }
    return played < most
  }
  while (await inTask(playSome));
  const failing = first
  if (failing === undefined) return
  const kinds = [...ways].map(([way, count]) => `${count} x '${way}'`).join(', ')
  const words = await inTask(() => inWords(shrink(failing)))
  throw new Error(`${failed} of ${played} schedules went wrong: ${kinds}. The first, shrunk:\n${words}`)
}
