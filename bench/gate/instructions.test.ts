// No more instructions than there were: what a change costs here is the same on a busy machine as on a quiet one.
//
// Where a change is worth more: RENEW=1 npm run test:gate writes baseline.json anew, which says with what it was built. Another compiler
// or libc makes other numbers of the same source: there the parts are skipped, by name.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildParts, builtWith, countInstructions, isValgrindThere, PARTS } from './parts.ts'

const MOST_TIMES = 1.05
const BASELINE = join(import.meta.dirname, 'baseline.json')

interface Baseline {
  builtWith: string
  /** For each of what a part has to do with. */
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
