// What test/mirror/scenarios.test.ts plays behind mounts of its own, by virtiofs.
import { expect, test } from 'vitest'
import { impossible, SCENARIOS } from '../mirror/scenarios/all.mjs'
import { withGuest } from './suite.ts'

withGuest("a mirror's scenarios by virtiofs, cache=auto", { cache: 'auto' }, (run) => {
  // One process for all of them: its start takes longer than most.
  let played: Promise<Record<string, string>> | undefined
  for (const [name] of SCENARIOS) {
    const reason = impossible('guest', name)
    test.skipIf(reason !== undefined)(reason === undefined ? name : `${name} (${reason})`, async () => {
      played ??= run('mirror', {}, 180_000)
      expect((await played)[name]).toBe('')
    })
  }
})
