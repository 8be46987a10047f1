// Tries each situation in every setting: on a mount that delivers nothing and in a plain directory, with one source and three, and with
// sources over the limits linked and held. Other tests try each alone. One process, situations.mjs, plays all of a kind in a mount
// namespace; the process uses dist.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { isLong } from '../support/long.ts'
import { directory } from './fixture.ts'
import { playedBy } from './played_by.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))
const program = join(import.meta.dirname, 'situations.mjs')

const names: string[] = isBuilt ? JSON.parse(spawnSync(process.execPath, [program]).stdout.toString()) : []

describe.skipIf(!mayUnshare || !isBuilt)(
  `in ${isLong ? 'every setting' : 'one setting, by turns,'} (needs unshare -rm and dist)`,
  () => {
    describe.each(['plain', 'FUSE'])('%s', (kind) => {
      let played: Promise<Record<string, object>> | undefined
      test.each(names)('%s', async (name) => {
        played ??= playedBy(program, kind, isLong ? 'all' : 'some', directory())
        expect((await played)[name]).toEqual({})
      })
    })
  },
)
