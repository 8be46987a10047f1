import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Outcome, play } from './play.ts'
import type { Settings } from './settings.ts'
import { type Round, rounds } from './world/operations.ts'
import { subjectsOf } from './world/plant.ts'

export interface CheckOptions {
  /** Of the operations. */
  seed: number
  /** ms for which a round that failed is made smaller. */
  shrinking: number
  /** The command line that does the same again, but for environment variables that it is to begin with. */
  command: string
}

const SEGMENTS = 2
// What two processes do at the same time is another each time: a round that failed is not innocent because it once goes well.
const TRIALS = 3
const MOST_OPERATIONS = 4

/** Plays a round; throws what was wrong with the smallest of its kind that was found. */
export async function check(
  settings: Settings,
  { seed, shrinking, command }: CheckOptions,
): Promise<Outcome> {
  let played: Outcome | undefined
  let found: { round: Round; outcome: Outcome; until: number } | undefined

  const isRight = async (round: Round): Promise<boolean> => {
    for (let trial = 0; trial < (found === undefined ? 1 : TRIALS); trial++) {
      // Out of time: nothing else is found to be smaller.
      if (found !== undefined && Date.now() > found.until) return true
      const outcome = await play(round, settings)
      played ??= outcome
      if (outcome.wrong.length === 0) continue
      found = { round, outcome, until: found?.until ?? Date.now() + shrinking }
      return false
    }
    return true
  }

  const { writers, operations } = settings
  const length = Math.ceil(operations / SEGMENTS / writers)
  const arbitrary = rounds(SEGMENTS, writers, length, subjectsOf(settings))
  const details = await fc.check(fc.asyncProperty(arbitrary, isRight), { seed, numRuns: 1 })
  if (found !== undefined) throw new Error(report(found.round, found.outcome, settings, command))
  // Not the watcher is wrong, but the test: a writer that cannot write.
  if (played === undefined || details.failed) throw details.errorInstance
  return played
}

/** At most some 20 lines: what was wrong, and how it is played again. */
function report(round: Round, { wrong }: Outcome, settings: Settings, command: string): string {
  const path = join(tmpdir(), `inotify-bridge-round-${process.pid}-${Date.now()}.json`)
  writeFileSync(path, JSON.stringify({ settings, round }))
  const operations = round.flatMap((segment, i) =>
    segment.flatMap((script, writer) => script.map((fields) => `${i}/${writer} ${JSON.stringify(fields)}`)),
  )
  return [
    ...wrong,
    `-- ${operations.length} operations (segment/writer), the last of them: ${operations.slice(-MOST_OPERATIONS).join(' ')}`,
    `-- all of them, until it fails: ROUND=${path} ${command}`,
    `-- as it was drawn: SETTINGS='${JSON.stringify(settings)}' ${command}`,
  ].join('\n')
}
