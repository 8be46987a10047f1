import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mayLimitQueue, watchTree } from './observer.ts'
import { rounds } from './operations.ts'
import { FILESYSTEMS, unavailable } from './places.ts'
import { play } from './play.ts'

// How often rounds diverge, and how: RATE=60 plays as many of each. model.test.ts stops at the first and makes it small.

const RATE = Number(process.env.RATE ?? 0)
const SEED = Number(process.env.SEED ?? 7000)

const settings = FILESYSTEMS.flatMap((filesystem) => [
  { filesystem, queue: 16384, start: 'before', writers: 1 } as const,
  { filesystem, queue: 16384, start: 'before', writers: 4 } as const,
  { filesystem, queue: 256, start: 'amid', writers: 4 } as const,
  { filesystem, queue: 16, start: 'amid', writers: 4 } as const,
])

test.runIf(RATE > 0 && mayLimitQueue).each(settings)(
  '$writers on $filesystem, queue $queue, begun $start',
  { timeout: 60_000 + RATE * 5000 },
  async (setting) => {
    if (unavailable(setting.filesystem)) return
    const kinds = new Map<string, number>()
    let diverged = 0
    for (const round of fc.sample(rounds(2, setting.writers, 1000 / setting.writers), {
      seed: SEED,
      numRuns: RATE,
    })) {
      const { wrong } = await play(round, { ...setting, strict: false, observe: watchTree })
      if (wrong[0] === undefined) continue
      diverged++
      const { appendFileSync } = await import('node:fs')
      appendFileSync(
        process.env.DETAIL ?? '/tmp/detail.log',
        `==== ${JSON.stringify(setting)}\n${wrong.join('\n')}\n`,
      )
      // Without the path, and without what is there.
      const kind = wrong[0].replace(/^"[^"]*" /, '').replace(/:.*/, '')
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    }
    process.stdout.write(`${JSON.stringify(setting)}: ${diverged} of ${RATE} ${JSON.stringify([...kinds])}\n`)
    expect(diverged).toBe(0)
  },
)
