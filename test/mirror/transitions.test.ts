// Readers of the target while the layout of a source changes. transitions.mjs plays the changes in a mount namespace, and uses
// dist.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { compile } from '../support/compile.ts'
import { rounds } from '../support/long.ts'
import { directory } from './fixture.ts'
import { playedBy } from './played_by.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))

/** Rounds of each of the 28 sorts. One process plays all sorts on a kind of mount. */
const ROUNDS = rounds(process.env.TRANSITIONS, { quick: 2, long: 4 })

const program = join(import.meta.dirname, 'transitions.mjs')

const names: string[] = isBuilt ? JSON.parse(spawnSync(process.execPath, [program]).stdout.toString()) : []

describe.skipIf(!mayUnshare || !isBuilt)(`${ROUNDS} transitions (needs unshare -rm and dist)`, () => {
  describe.each(['plain', 'FUSE'])('%s', (kind) => {
    let played: Promise<Record<string, { reads: number }>> | undefined
    test.each(names.flatMap((name) => [1, 3].map((sources) => ({ name, sources }))))(
      '$name: $sources sources',
      async ({ name, sources }) => {
        played ??= playedBy(program, kind, `${ROUNDS}`, directory(), compile('tight_reader'))
        const { reads, ...rest } = (await played)[`${name}: ${sources}`] ?? { reads: 0 }
        expect(rest).toEqual({
          met: { missing: 0, failed: 0, torn: 0, mixed: 0, error: '' },
          said: [],
          wrong: [],
        })
        expect(reads).toBeGreaterThan(100)
      },
    )
  })
})
