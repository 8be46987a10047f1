import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { check, title } from './check.ts'
import { mayLimitQueue, NARROWEST, watchTree } from './observer.ts'
import { rounds } from './operations.ts'
import { FILESYSTEMS, unavailable } from './places.ts'
import { play, type Setting } from './play.ts'
import { watchOver } from './watchdog.ts'

// Four processes change a tree, move parts of it out and in, exchange, link and replace, all at once; the queue is too small, or
// not. What the changes say, from the state before and nothing else, is what there is; and each follows on those before it.
//
// In the environment:
// ROUNDS=300     as many rounds, of 2,000 operations each; 2 of each setting if it is not set
// SEED=...       the same operations again, as a failure says
// ROUND=file     those of a failure, made smaller, up to 100 times, as a failure says
// SHRINK_MS=...  for how long a failure is made smaller

const SEGMENTS = 2
const OPERATIONS = 2000
const FOUR = FILESYSTEMS.flatMap((filesystem) =>
  [NARROWEST, 256, 16384].flatMap((queue) =>
    (['before', 'amid'] as const).map((start) => ({ filesystem, queue, start, writers: 4 })),
  ),
)
const ONE = FILESYSTEMS.map((filesystem) => ({
  filesystem,
  queue: 16384,
  start: 'before' as const,
  writers: 1,
}))
const settings: Setting[] = [...FOUR, ...ONE].map((setting) => ({ ...setting, observe: watchTree }))

const total = Number(process.env.ROUNDS ?? 2 * settings.length)
const each = Math.ceil(total / settings.length)
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
const shrinking = Number(process.env.SHRINK_MS ?? 20_000)

function whyNot({ filesystem, queue }: Setting): string | undefined {
  const why = unavailable(filesystem)
  if (why !== undefined) return why
  return mayLimitQueue || queue === 16384 ? undefined : 'may not set max_queued_events'
}

describe.runIf(process.env.ROUND === undefined)(`${total} rounds, seed ${seed}`, () => {
  for (const setting of settings) {
    const why = whyNot(setting)
    test.skipIf(why)(
      `${title(setting)}${why === undefined ? '' : `: ${why}`}`,
      { timeout: 60_000 + each * 5000 },
      async () => {
        const command = `SEED=${seed} ROUNDS=${total} npx vitest run test/watch/model -t '${title(setting)}'`
        using _ = watchOver(30_000, `stuck in a loop without an end: ${command}\n`)
        const tally = await check(
          rounds(SEGMENTS, setting.writers, OPERATIONS / SEGMENTS / setting.writers),
          setting,
          {
            rounds: each,
            seed,
            shrinking,
            command,
          },
        )
        process.stdout.write(`${title(setting)}: ${JSON.stringify(tally)}\n`)
        // Otherwise nothing was repaired.
        if (setting.queue === NARROWEST && mayLimitQueue) expect(tally.overflows).toBeGreaterThan(0)
      },
    )
  }
})

test.runIf(process.env.ROUND)('the round of a failure, up to 100 times', { timeout: 600_000 }, async () => {
  const { round, ...setting } = JSON.parse(readFileSync(process.env.ROUND as string, 'utf8'))
  for (let i = 0; i < 100; i++) {
    const { wrong } = await play(round, { ...setting, observe: watchTree })
    expect(wrong.join('\n'), `attempt ${i}`).toBe('')
  }
})
