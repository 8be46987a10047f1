import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { isLong, rounds } from '../../support/long.ts'
import { check } from './check.ts'
import { play } from './play.ts'
import { brief, ORDINARY, type Settings, settingsFrom } from './settings.ts'
import { watchOver } from './watchdog.ts'
import { unobservable } from './watching/observer.ts'
import { unavailable } from './world/world.ts'

// Processes change a tree, move parts of it out and in, exchange, link and replace, all at once. With all
// settings, the changes must lead from the state before to the state after, each applied alone. Each write
// must be told after the write.
//
// In the environment:
// ROUNDS=1000      the number of rounds. Default: 8, or 40 with LONG, each with a quarter of the operations
// SEED=...         the number of the first settings and operations; the next numbers follow. Default: the same
//                  each time, so that only people who set SEED play new ones
// SETTINGS='{...}' settings that are not random, as JSON: see settings.ts
// ROUND=file       plays the small round of a failure again, up to 100 times; the failure names the file
// SHRINK_MS=...    the ms for which a failing round is made smaller

const total = rounds(process.env.ROUNDS, { quick: 8, long: 40 })
// Long runs begin with 1. Short runs begin with 6: from there eight settings have each filesystem, binds,
// both queues and the other great differences, and none takes several seconds.
const first = Number(process.env.SEED ?? (isLong ? 1 : 6))
const shrinking = Number(process.env.SHRINK_MS ?? 20_000)
const given: Partial<Settings> = JSON.parse(process.env.SETTINGS ?? '{}')
const mostOperations = process.env.ROUNDS === undefined ? ORDINARY.operations / 4 : Number.POSITIVE_INFINITY

const whyNot = (settings: Settings) => unavailable(settings) ?? unobservable(settings)

/** Returns the settings of a seed, with a limit on the operations. */
function playedFrom(seed: number): Settings {
  const drawn = settingsFrom(seed, given, (settings) => whyNot(settings) === undefined)
  return { ...drawn, operations: given.operations ?? Math.min(drawn.operations, mostOperations) }
}

const SPECIAL: Array<Partial<Settings>> = [
  ...(['ext4', 'overlay', 'tmpfs'] as const).map((filesystem) => ({ filesystem })),
  { binds: true },
  { queue: 16 },
  { host: 'worker' },
  { host: 'process' },
]

// Settings that this machine cannot play are skipped by name.
for (const settings of SPECIAL) {
  const why = whyNot({ ...ORDINARY, ...settings })
  if (why !== undefined) test.skip(`rounds with ${JSON.stringify(settings)}: ${why}`, () => {})
}

const tally = { rounds: 0, operations: 0, changes: 0, overflows: 0 }
afterAll(() => void process.stdout.write(`${JSON.stringify(tally)}\n`))

describe.runIf(process.env.ROUND === undefined)(`${total} rounds from SEED=${first} on`, () => {
  for (let seed = first; seed < first + total; seed++) {
    const settings = playedFrom(seed)
    test(`SEED=${seed} ${brief(settings)}`, { timeout: 600_000 }, async () => {
      const command = `SEED=${seed} ROUNDS=1 npx vitest run test/watch/model/model.test.ts`
      const again = `SETTINGS='${JSON.stringify(settings)}' ${command}`
      using _ = watchOver(60_000, `stuck in a loop without an end: ${again}\n`)
      const { operations, told, overflows } = await check(settings, { seed, shrinking, command })
      tally.rounds++
      tally.operations += operations
      tally.changes += told
      tally.overflows += overflows
    })
  }
})

test.runIf(process.env.ROUND)('the round of a failure, up to 100 times', { timeout: 600_000 }, async () => {
  const { round, settings } = JSON.parse(readFileSync(process.env.ROUND as string, 'utf8'))
  for (let i = 0; i < 100; i++) {
    const { wrong } = await play(round, settings)
    expect(wrong.join('\n'), `attempt ${i}`).toBe('')
  }
})
