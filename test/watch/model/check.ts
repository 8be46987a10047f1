import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Round } from './operations.ts'
import { type Outcome, play, type Setting } from './play.ts'

/** What {@link check} has seen. */
export interface Tally {
  rounds: number
  operations: number
  changes: number
  overflows: number
}

export interface CheckOptions {
  rounds: number
  seed: number
  /** ms for which a round that failed is made smaller. */
  shrinking: number
  /** The command line that does the same again. */
  command: string
}

// What two processes do at the same time is another each time: a round that failed is not innocent because it once goes well.
const TRIALS = 3

export const title = ({ filesystem, queue, start, writers }: Setting) =>
  `${writers} ${writers === 1 ? 'writer' : 'writers'} on ${filesystem}, max_queued_events ${queue}, begun ${start} the writing`

/** Plays rounds until one goes wrong; throws what was wrong with the smallest of its kind that was found. */
export async function check(
  arbitrary: fc.Arbitrary<Round>,
  setting: Setting,
  { rounds, seed, shrinking, command }: CheckOptions,
): Promise<Tally> {
  const tally: Tally = { rounds: 0, operations: 0, changes: 0, overflows: 0 }
  let found: { round: Round; outcome: Outcome; until: number } | undefined

  const isRight = async (round: Round): Promise<boolean> => {
    for (let trial = 0; trial < (found === undefined ? 1 : TRIALS); trial++) {
      // Out of time: nothing else is found to be smaller.
      if (found !== undefined && Date.now() > found.until) return true
      const outcome = await play(round, setting)
      tally.rounds++
      tally.operations += outcome.operations
      tally.changes += outcome.changes.length
      tally.overflows += outcome.overflows
      if (outcome.wrong.length === 0) continue
      found = { round, outcome, until: found?.until ?? Date.now() + shrinking }
      return false
    }
    return true
  }

  const details = await fc.check(fc.asyncProperty(arbitrary, isRight), { seed, numRuns: rounds })
  if (found === undefined) {
    // Not the watcher is wrong, but the test: a writer that cannot write.
    if (details.failed) throw details.errorInstance
    return tally
  }
  throw new Error(report(found.round, found.outcome, setting, command))
}

function report(round: Round, { wrong }: Outcome, setting: Setting, command: string): string {
  const path = join(tmpdir(), `inotify-bridge-round-${process.pid}-${Date.now()}.json`)
  const { observe: _, ...told } = setting
  writeFileSync(path, JSON.stringify({ ...told, round }))
  const scripts = round.flatMap((segment, i) =>
    segment.flatMap((script, writer) =>
      script.map(
        (fields) => `   ${i} writer ${writer}: ${fields.map((field) => JSON.stringify(field)).join(' ')}`,
      ),
    ),
  )
  const shown = scripts.length > 60 ? [...scripts.slice(0, 60), `   ... ${scripts.length} in all`] : scripts
  return [
    `${title(setting)}:`,
    ...wrong,
    '-- the operations (segment, writer):',
    ...shown,
    `-- again, with the same operations, until it fails: ROUND=${path} ${command}`,
    `-- again from the seed: ${command}`,
  ].join('\n')
}
