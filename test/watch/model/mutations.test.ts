import { execFile } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'

// What the model test is worth: it fails when what it is there for is broken. Each mutation is made in a copy of the sources, in
// which the same tests are run.

interface Mutation {
  name: string
  /** In src/. */
  file: string
  /** To be found exactly once. */
  find: string
  replace: string
  /** vitest's arguments: which tests are to fail. */
  tests: string[]
  /** What they are to say: not any failure will do, a syntax error for one. */
  says: RegExp
}

const model = (which: string) => ['test/watch/model/model.test.ts', '-t', `4 writers on tmpfs, ${which}`]
const WIDE = model('max_queued_events 16384')
const NARROW = model('max_queued_events 16,')
const DIVERGED =
  /falsely paired: |missed: |a ghost: |not named: |believed to be |is there already|where nothing is|is not there|in no directory/

const mutations: Mutation[] = [
  {
    name: 'after an overflow nothing is compared',
    file: 'watch/recovery.ts',
    find: 'await surveyor.reconcile(\n      present.map(({ top }) => top as Directory)',
    replace: 'await surveyor.reconcile(\n      []',
    tests: NARROW,
    says: DIVERGED,
  },
  {
    name: 'a directory that comes up is watched, and what is in it already is not listed',
    file: 'watch/translate.ts',
    find: '      this.#around.list(created)\n',
    replace: '',
    tests: WIDE,
    says: DIVERGED,
  },
  {
    name: 'renames are paired with whatever left first',
    file: 'watch/departures.ts',
    find: 'return this.#byCookie.get(cookie)?.find(',
    replace: 'void cookie; return [...this.#byEntry.values()].find(',
    tests: WIDE,
    says: DIVERGED,
  },
]

const ROOT = join(import.meta.dirname, '../../..')
// A seed and a time to shrink are for people; this only wants to know whether it fails.
const environment = { SEED: '1', SHRINK_MS: '0', ROUNDS: '420' }

/** A copy of the sources and the tests that can be run as they are. */
function copyOfSources(): string {
  const copy = scratch()
  for (const name of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  for (const name of ['build', 'node_modules']) symlinkSync(join(ROOT, name), join(copy, name))
  return copy
}

function mutate(copy: string, { file, find, replace }: Mutation): void {
  const path = join(copy, 'src', file)
  const parts = readFileSync(path, 'utf8').split(find)
  expect(parts.length - 1, `the table is out of date: ${JSON.stringify(find)} in src/${file}`).toBe(1)
  writeFileSync(path, parts.join(replace))
}

function run(copy: string, tests: string[]): Promise<{ passed: boolean; output: string }> {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  // Without the variables by which this vitest tells its own workers who they are.
  const inherited = Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$)/.test(name))
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [vitest, 'run', '--bail', '1', ...tests],
      {
        cwd: copy,
        env: { ...Object.fromEntries(inherited), ...environment },
        timeout: 100_000,
        maxBuffer: 1 << 28,
      },
      (error, stdout, stderr) => resolve({ passed: error === null, output: stdout + stderr }),
    )
  })
}

test.each(mutations)('$name: the model test notices', { timeout: 120_000 }, async (mutation) => {
  const copy = copyOfSources()
  mutate(copy, mutation)
  const { passed, output } = await run(copy, mutation.tests)
  expect(passed, output).toBe(false)
  expect(output).toMatch(mutation.says)
})
