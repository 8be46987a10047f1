// Fails if the code takes more instructions than before: a change has the same figures on a busy machine as
// on an idle one.
//
// For a change that is worth more: RENEW=1 npm run test:gate writes baseline.json anew, with the names of the
// compiler and the libc. Others make other numbers of the same source: there the parts are skipped, by name.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildParts, builtWith, countInstructions, isValgrindThere, PARTS } from './parts.ts'

const MOST_TIMES = 1.05
const BASELINE = join(import.meta.dirname, 'baseline.json')

interface Baseline {
  builtWith: string
  /** The instructions for each unit of a part: an event, an entry or another one. */
  instructions: Record<string, number>
}

const here = builtWith()
const isRenewed = process.env.RENEW === '1'
const baseline: Baseline = isRenewed
  ? { builtWith: here, instructions: {} }
  : JSON.parse(readFileSync(BASELINE, 'utf8'))
const why = whyNot()

function whyNot(): string | undefined {
  if (!isValgrindThere()) return 'valgrind is not installed'
  if (baseline.builtWith === here) return undefined
  return `the baseline is of ${baseline.builtWith}, and here is ${here}`
}

const directory = mkdtempSync(join(tmpdir(), 'inotify-bridge-gate-'))
let program = ''
beforeAll(() => {
  program = buildParts(directory)
})
afterAll(() => {
  rmSync(directory, { recursive: true })
  if (isRenewed && why === undefined) writeFileSync(BASELINE, `${JSON.stringify(baseline, null, 2)}\n`)
})

const note = why === undefined ? '' : ` (skipped: ${why})`
test.skipIf(why !== undefined).each(PARTS)(`%s takes no more instructions than it did${note}`, (part) => {
  const counted = Number(countInstructions(program, part).toFixed(1))
  if (isRenewed) baseline.instructions[part] = counted
  const was = baseline.instructions[part] ?? 0
  expect(counted, `it was ${was}`).toBeLessThanOrEqual(was * MOST_TIMES)
})

test('the baseline has these parts and no others', () => {
  expect(Object.keys(baseline.instructions)).toEqual(PARTS)
})
