import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))

test.skipIf(!isBuilt)('in several threads, of which some are terminated at work (needs dist)', () => {
  const program = [join(import.meta.dirname, 'workers.mjs'), scratch()]
  const { status, stdout, stderr } = spawnSync(process.execPath, program, {
    encoding: 'utf8',
    timeout: 60_000,
  })
  expect([status, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toEqual({ changed: [['0'], ['1'], ['2']] })
})
