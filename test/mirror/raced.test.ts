// Swaps that come while a source is read. Played by raced.mjs in a mount namespace, which uses dist.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { isLong } from '../support/long.ts'
import { directory } from './fixture.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))
const hasBindfs = spawnSync('bindfs', ['--version']).status === 0
const program = [process.execPath, join(import.meta.dirname, 'raced.mjs')]

describe.skipIf(!mayUnshare || !isBuilt)(
  'swaps while the source is read (needs unshare -rm and dist)',
  () => {
    // bindfs knows nothing any more of a directory that was removed: ENOENT; what the others still know has no links.
    describe.each([['plain', true] as const, ['FUSE', true] as const, ['bindfs', hasBindfs] as const])(
      '%s',
      (kind, isThere) => {
        test.skipIf(!isThere).each([
          { keys: isLong ? 500 : 200, files: 0, swaps: isLong ? 10 : 3, pause: isLong ? 200 : 100 },
          { keys: 1, files: 1, swaps: isLong ? 200 : 50, pause: 10 },
        ])(
          `$swaps swaps of $keys keys and $files file: never source-lost, and the last one arrives${isThere ? '' : ' (needs bindfs)'}`,
          ({ keys, files, swaps, pause }) => {
            const args = [kind, keys, files, swaps, pause, directory()].map(String)
            const { stdout, stderr } = spawnSync('unshare', ['-rm', ...program, ...args])
            expect(stdout.toString(), stderr.toString()).not.toBe('')
            const { states, wrong } = JSON.parse(stdout.toString())
            expect({ states, wrong }).toEqual({ states: [], wrong: [] })
          },
        )
      },
    )
  },
)
