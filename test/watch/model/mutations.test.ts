import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isLong } from '../../support/long.ts'
import { type Mutation, mutatedCopy } from '../../support/mutation.ts'
import { ORDINARY, type Settings } from './settings.ts'
import { mayLimitQueue } from './watching/observer.ts'
import { unavailable } from './world/world.ts'

// The worth of the model test: it fails when the code is broken. Each mutation is made in a copy of the
// sources, in which the same tests run.

interface Noticed extends Mutation {
  name: string
  /** The arguments of vitest that select the tests that must fail. */
  tests: string[]
  /** The settings of the model's rounds, if those must fail. */
  settings?: Partial<Settings>
  /** The expected message. A syntax error, for one, is no proof. */
  says: RegExp
  /** The reason why the tests cannot run here, if any. */
  whyNot?: string | undefined
}

const MODEL = ['test/watch/model/model.test.ts']
const DIVERGED =
  /falsely paired: |missed: |a ghost: |not named: |not told since: |believed to be |the name is taken|nothing has the name|nothing has this name|in no directory|the root never went/

const noTmpfs = unavailable(ORDINARY)

const mutations: Noticed[] = [
  {
    name: 'after an overflow nothing is compared',
    file: 'watch/engine/overflow_recovery.ts',
    find: 'await rescan.reconcile(\n      present.map(({ top }) => top as Directory)',
    replace: 'await rescan.reconcile(\n      []',
    tests: MODEL,
    settings: { ...ORDINARY, queue: 16 },
    says: DIVERGED,
    whyNot: noTmpfs ?? (mayLimitQueue ? undefined : 'may not set max_queued_events'),
  },
  {
    name: 'a directory that comes up is watched, and what is in it already is not listed',
    file: 'watch/events/translator.ts',
    find: '      this.#pending.work.list(created)\n',
    replace: '',
    tests: MODEL,
    settings: ORDINARY,
    says: DIVERGED,
    whyNot: noTmpfs,
  },
  {
    name: 'renames are paired with whatever left first',
    file: 'watch/pending/pending_moves.ts',
    find: 'return this.#byCookie.get(cookie)?.find(',
    replace: 'void cookie; return [...this].find(',
    tests: MODEL,
    settings: ORDINARY,
    says: DIVERGED,
    whyNot: noTmpfs,
  },
  // The model test notices the next one only where the scheduler helps: not once in 200 rounds beside two
  // busy processes.
  {
    name: 'what is found is taken in though an event has told of it since',
    file: 'watch/pending/recheck_queue.ts',
    find: 'if (isAsked || this.#names.at(directory, name) !== undefined) this.add(directory, name)',
    replace: 'void [directory, name]',
    tests: ['test/watch/pending/recheck_queue.test.ts'],
    says: /to deeply equal/,
  },
  // The model test notices the next two not at all, or in 2 of 3,200 rounds. The wrong changes concern names
  // in doubt, which are right after the next look.
  {
    name: 'where directories moved, nothing is listed once more',
    file: 'watch/events/follow_up.ts',
    find: 'if (moved.length === 0) return\n',
    replace: 'if (moved.length >= 0) return\n',
    tests: ['test/watch/events/follow_up.test.ts'],
    says: /to deeply equal/,
  },
  {
    name: 'an exchange is taken for a rename over and back',
    file: 'watch/events/renames.ts',
    find: 'known && findExchange(index, i, entry, known)',
    replace: 'undefined as ReturnType<typeof findExchange>',
    tests: ['test/watch/events/translator_directories.test.ts'],
    says: /\+ +"rename file a b replaced"/,
  },
]

// The scheduler decides when a writer runs while the watcher reads: beside other work, 40 rounds passed
// without the failing interleaving.
const TRIES = 5

const ROOT = join(import.meta.dirname, '../../..')
// The seed and the time to shrink are for people. This test only needs the failure.
const environment = { SEED: '1', SHRINK_MS: '0', ROUNDS: '20', NO_COLOR: '1', FORCE_COLOR: '0' }

function run(copy: string, { tests, settings }: Noticed): Promise<{ passed: boolean; output: string }> {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  // Removes the variables by which this vitest identifies its workers, and LONG, which would play more
  // rounds.
  const mine = /^(VITEST|TEST$|NODE_ENV$|LONG$)/
  const inherited = Object.entries(process.env).filter(([name]) => !mine.test(name))
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [vitest, 'run', '--bail', '1', ...tests],
      {
        cwd: copy,
        // Files that a failure leaves for people are removed with the copy.
        env: {
          ...Object.fromEntries(inherited),
          ...environment,
          SETTINGS: JSON.stringify(settings ?? {}),
          TMPDIR: copy,
        },
        timeout: 100_000,
        maxBuffer: 1 << 28,
      },
      (error, stdout, stderr) => resolve({ passed: error === null, output: stdout + stderr }),
    )
  })
}

for (const mutation of mutations) {
  const { name, says } = mutation
  const whyNot = isLong ? mutation.whyNot : 'npm run test:long'
  test.skipIf(whyNot)(
    `${name}: the tests notice${whyNot === undefined ? '' : `: ${whyNot}`}`,
    { timeout: 120_000 * TRIES },
    async () => {
      const copy = mutatedCopy(mutation)
      let { passed, output } = await run(copy, mutation)
      for (let tries = 1; passed && tries < TRIES; tries++) ({ passed, output } = await run(copy, mutation))
      expect(passed, output).toBe(false)
      expect(output).toMatch(says)
    },
  )
}
