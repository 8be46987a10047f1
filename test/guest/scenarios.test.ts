// Plays the scenarios of test/mirror/scenarios.test.ts by virtiofs.
import { expect, test } from 'vitest'
import { impossible, SCENARIOS } from '../mirror/scenarios/all.mjs'
import { withGuest } from './suite.ts'

/** ms for all scenarios; on an idle machine they take 70 s. */
const DEADLINE = 400_000

withGuest("a mirror's scenarios by virtiofs, cache=auto", { cache: 'auto' }, (run) => {
  // One process plays all scenarios, because its start takes longer than most of them. The first test starts
  // the process.
  let played: Promise<Record<string, string>> | undefined
  for (const [name] of SCENARIOS) {
    const reason = impossible('guest', name)
    test.skipIf(reason !== undefined)(
      reason === undefined ? name : `${name} (${reason})`,
      { timeout: DEADLINE + 30_000 },
      async () => {
        played ??= run('mirror', {}, DEADLINE)
        expect((await played)[name]).toBe('')
      },
    )
  }
})
