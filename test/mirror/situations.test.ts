// What each of them is told apart in other tests, in every setting: on a mount that delivers nothing as well as in a plain directory, of one
// and of three sources, what is over the limits linked and held. All of a kind are played by one process, situations.mjs, in a mount
// namespace; it uses dist.
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
