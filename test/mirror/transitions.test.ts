// What readers of the target meet while the layout of a source changes. Played by transitions.mjs in a mount namespace, which uses dist.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { compile } from '../support/compile.ts'
import { rounds } from '../support/long.ts'
import { directory } from './fixture.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))

/** Of each kind, of which there are 28. */
const ROUNDS = rounds(process.env.TRANSITIONS, { quick: 3, long: 8 })

const program = [process.execPath, join(import.meta.dirname, 'transitions.mjs')]

const names: string[] = isBuilt
  ? JSON.parse(spawnSync(program[0] ?? '', program.slice(1)).stdout.toString())
  : []

describe.skipIf(!mayUnshare || !isBuilt)(`${ROUNDS} transitions (needs unshare -rm and dist)`, () => {
  const all = names.flatMap((name) =>
    (['plain', 'FUSE'] as const).flatMap((kind) => [1, 3].map((sources) => ({ name, kind, sources }))),
  )
  test.each(all)(
    '$name: $sources sources, $kind',
    ({ name, kind, sources }) => {
      const args = [kind, name, `${sources}`, `${ROUNDS}`, directory(), compile('tight_reader')]
      const { stdout, stderr } = spawnSync('unshare', ['-rm', ...program, ...args])
      expect(stdout.toString(), stderr.toString()).not.toBe('')
      const { reads, ...rest } = JSON.parse(stdout.toString())
      expect(rest).toEqual({
        met: { missing: 0, failed: 0, torn: 0, mixed: 0, error: '' },
        said: [],
        wrong: [],
      })
      expect(reads).toBeGreaterThan(100)
    },
    10_000 + ROUNDS * 500,
  )
})
