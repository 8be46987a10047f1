import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Outcome, play } from './play.ts'
import type { Settings } from './settings.ts'
import { type Round, rounds } from './world/operations.ts'
import { subjectsOf } from './world/plant.ts'

export interface CheckOptions {
  /** The seed of the operations. */
  seed: number
  /** The ms for which a failing round is made smaller. */
  shrinking: number
  /** The command line that plays the same again. The report adds environment variables in front. */
  command: string
}

const SEGMENTS = 2
// Processes interleave differently each time: a smaller round must succeed three times before it counts as
// right.
const TRIALS = 3
const MOST_OPERATIONS = 4

/** Plays a round. Throws the faults of the smallest failing round that was found. */
export async function check(
  settings: Settings,
  { seed, shrinking, command }: CheckOptions,
): Promise<Outcome> {
  let played: Outcome | undefined
  let found: { round: Round; outcome: Outcome; until: number } | undefined

  const isRight = async (round: Round): Promise<boolean> => {
    for (let trial = 0; trial < (found === undefined ? 1 : TRIALS); trial++) {
      // The time is over: no round counts as smaller from now on.
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
  // A writer that cannot write is the test's fault, not the watcher's.
  if (played === undefined || details.failed) throw details.errorInstance
  return played
}

/** Returns the faults and the command that plays them again, in some 20 lines at most. */
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
