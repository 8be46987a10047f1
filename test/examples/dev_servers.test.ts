// examples/dev-servers: the real programs from npm, each unchanged and with inotify-bridge/register in
// NODE_OPTIONS.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MAIN, Program } from '../cli/command.ts'
import { PATIENCE, processesWith } from '../reload/fixture.ts'
import { isLong } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { exampleText } from './manifests.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')
const PROGRAMS = ['vite', 'next', 'webpack', 'webpack-dev-server', 'tsc', 'nodemon']
// EDITS=20 plays as many edits as the page.
const EDITS = Number(process.env.EDITS ?? 5)

/** A line of show.mjs --json; times in ms. */
interface Shown {
  program: string
  edits: number
  silent: { p50: number; bound: number; isOwnRebuilt: boolean }
  ordinary: { ours: number; own: number; ratio: number }
}

function show(...args: string[]) {
  const here = scratch()
  const run = new Program(process.execPath, [join(EXAMPLES, 'dev-servers/show.mjs'), ...args], {
    environment: { TMPDIR: here },
  })
  return { run, here, leftovers: () => readdirSync(here) }
}

const needs = 'dist, npm ci --prefix examples'
const hasAll = existsSync(MAIN) && existsSync(join(EXAMPLES, 'node_modules/next'))

describe.skipIf(!hasAll)(`run (needs ${needs})`, () => {
  // Each program takes seconds, and Next half a minute.
  test.for(isLong ? PROGRAMS : ['vite'])(
    '%s rebuilds on a silent mount, where it does not by its own watcher, and elsewhere as soon as by that',
    async (name, { skip }) => {
      const { run, leftovers } = show('--json', '--edits', `${EDITS}`, name)
      const { code, stdout, stderr } = await run.ended()
      expect(code, stdout + stderr).toBe(0)
      expect(stderr).toBe('')
      expect(leftovers()).toEqual([])
      if (stdout.startsWith('skipped: ')) skip(stdout.trim())
      const { program, edits, silent, ordinary }: Shown = JSON.parse(stdout)
      expect({ program, edits, isOwnRebuilt: silent.isOwnRebuilt }).toEqual({
        program: name,
        edits: EDITS,
        isOwnRebuilt: false,
      })
      expect(silent.bound).toBeGreaterThanOrEqual(10 * silent.p50)
      // The machine is busy and the programs take turns: the page has the figures of an idle one.
      expect(ordinary.ours).toBeLessThan(3 * ordinary.own + 100)
    },
  )

  test('what it has started ends with it', async ({ skip }) => {
    const { run, here, leftovers } = show('webpack')
    const isUnderWay = () => processesWith(here).some((pid) => pid !== run.pid)
    await expect.poll(() => isUnderWay() || /^skipped/.test(run.stdout), PATIENCE).toBe(true)
    if (!isUnderWay()) skip(run.stdout.trim())
    run.kill('SIGINT')
    expect((await run.ended()).code).toBe(130)
    expect(leftovers()).toEqual([])
    await expect.poll(isUnderWay, PATIENCE).toBe(false)
  })
})

test('the page names each program, and how it is run', () => {
  const page = exampleText('dev-servers/README.md')
  expect(page).toContain('node examples/dev-servers/show.mjs')
  for (const name of PROGRAMS) expect(page).toContain(`\`${name}\``)
})

test('the lock file names no registry, so that npm takes the one that it is told to', () => {
  expect(exampleText('package-lock.json')).not.toContain('"resolved": "http')
})
