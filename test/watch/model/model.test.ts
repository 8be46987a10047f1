import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { isLong, rounds } from '../../support/long.ts'
import { check } from './check.ts'
import { play } from './play.ts'
import { brief, ORDINARY, type Settings, settingsFrom } from './settings.ts'
import { watchOver } from './watchdog.ts'
import { unobservable } from './watching/observer.ts'
import { unavailable } from './world/world.ts'

// Processes change a tree, move parts of it out and in, exchange, link and replace, all at once. Whatever the settings, what the changes say,
// each applied alone to the state before and nothing else, is what there is; and what was written was told after it was.
//
// In the environment:
// ROUNDS=1000      as many rounds; if it is not set 8, or 40 with LONG, which is each setting, of a quarter of the operations: who asks for rounds has them long
// SEED=...         the settings and operations with this number, and those that follow it. Without it they are the same each time: what new ones
//                  find is for whoever plays them
// SETTINGS='{...}' what is not to be drawn, as JSON: see settings.ts
// ROUND=file       the round of a failure, made smaller, up to 100 times, as a failure says
// SHRINK_MS=...    for how long a failure is made smaller

const total = rounds(process.env.ROUNDS, { quick: 8, long: 40 })
// For those who wait, eight with each filesystem, binds, both queues and what else makes a difference, of which none takes several seconds.
const first = Number(process.env.SEED ?? (isLong ? 1 : 6))
const shrinking = Number(process.env.SHRINK_MS ?? 20_000)
const given: Partial<Settings> = JSON.parse(process.env.SETTINGS ?? '{}')
const mostOperations = process.env.ROUNDS === undefined ? ORDINARY.operations / 4 : Number.POSITIVE_INFINITY

const whyNot = (settings: Settings) => unavailable(settings) ?? unobservable(settings)

/** The settings with this number, as they are played. */
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

// What cannot be drawn here is skipped by name.
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
