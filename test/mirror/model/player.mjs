// Plays rounds of one kind of mount and prints as JSON what came of them. Behind FUSE and overlay it runs in a mount namespace of its own.
//
//   [unshare -m[r]] node player.mjs KIND READER ROUNDS SEED SHRINK_MS DIRECTORY TARGETS...
//
// READER: ../../native/target_reader.c, compiled. DIRECTORY: for the sources; TARGETS: for targets, as file system=directory.
// ROUND=file in the environment: that round, up to 100 times.
import fs from 'node:fs'
import fc from 'fast-check'
import { play } from './play.mjs'
import { rounds } from './rounds.mjs'
import { setStage, Unable } from './stage.mjs'

/** @typedef {import('./rounds.mjs').Round} Round */
/** @typedef {import('./play.mjs').Played} Played */

const [, , kind = '', program = '', count = '', seed = '', shrinking = '', base = '', ...places] =
  process.argv

// Two processes do things in another order each time: one good run does not clear a round that failed.
const TRIALS = 3

const tally = { rounds: 0, starts: 0, quiets: 0, changes: 0, reads: 0 }
/** @type {{ round: Round, played: Played, until: number } | undefined} */
let found

/** @param {Round} round @param {import('./stage.mjs').Stage} stage */
async function isRight(round, stage) {
  for (let trial = 0; trial < (found === undefined ? 1 : TRIALS); trial++) {
    // Out of time: nothing else is found to be smaller.
    if (found !== undefined && Date.now() > found.until) return true
    const played = await play(round, stage)
    tally.rounds++
    tally.starts += played.starts
    tally.quiets += played.quiets
    tally.changes += played.journal.length
    tally.reads += played.reads
    if (played.wrong.length === 0) continue
    found = { round, played, until: found?.until ?? Date.now() + Number(shrinking) }
    return false
  }
  return true
}

/** @param {import('./stage.mjs').Stage} stage */
async function playAll(stage) {
  const again = process.env.ROUND
  if (again !== undefined) {
    const { round } = JSON.parse(fs.readFileSync(again, 'utf8'))
    for (let n = 0; n < 100 && found === undefined; n++) await isRight(round, stage)
    return
  }
  const arbitrary = rounds(Object.keys(stage.targets))
  const property = fc.asyncProperty(arbitrary, (round) => isRight(round, stage))
  const { failed, errorInstance } = await fc.check(property, { seed: Number(seed), numRuns: Number(count) })
  // Not the mirror is wrong, but the test.
  if (failed && found === undefined) throw errorInstance
}

try {
  const stage = await setStage(kind, program, base, places)
  await playAll(stage)
  await stage.end()
  const { wrong, journal } = found?.played ?? {}
  process.stdout.write(JSON.stringify({ tally, found: found && { round: found.round, wrong, journal } }))
} catch (error) {
  if (!(error instanceof Unable)) throw error
  process.stdout.write(JSON.stringify({ unable: error.message }))
}
// The server of a mount lives on otherwise.
process.exit()
