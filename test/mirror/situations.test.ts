// What each of them is told apart in other tests, in every setting: on a mount that delivers nothing as well as in a plain directory, of one
// and of three sources, what is over the limits linked and held. Played by situations.mjs in a mount namespace, which uses dist.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { directory } from './fixture.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))

const program = [process.execPath, join(import.meta.dirname, 'situations.mjs')]

const names: string[] = isBuilt
  ? JSON.parse(spawnSync(program[0] ?? '', program.slice(1)).stdout.toString())
  : []

describe.skipIf(!mayUnshare || !isBuilt)('in every setting (needs unshare -rm and dist)', () => {
  test.each(names.flatMap((name) => (['plain', 'FUSE'] as const).map((kind) => ({ name, kind }))))(
    '$name, $kind',
    ({ name, kind }) => {
      const { stdout, stderr } = spawnSync('unshare', ['-rm', ...program, kind, name, directory()])
      expect(stdout.toString(), stderr.toString()).not.toBe('')
      expect(JSON.parse(stdout.toString())).toEqual({})
    },
  )
})
