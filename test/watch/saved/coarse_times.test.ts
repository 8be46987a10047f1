// Nothing that was done since a snapshot is left out: also not the second write in a second, of as many bytes, on a file system that keeps whole seconds. What
// varies: the file system, where the file lies, and what told of it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import { directory } from '../../mirror/fixture.ts'
import { playedBy, playedByRoot } from '../../mirror/played_by.ts'
import { mayUnshare } from '../../mounts/namespace.ts'

const program = join(import.meta.dirname, 'coarse_times.mjs')
const isBuilt = existsSync(join(import.meta.dirname, '../../../dist/watch.js'))

interface Played {
  unable?: string
  isOneTick: boolean
  told: Record<string, string[]>
}

function judge({ skip }: TestContext, { unable, isOneTick, told }: Played, ways: readonly string[]): void {
  if (unable !== undefined) skip(`cannot be mounted here: ${unable}`)
  if (!isOneTick) skip('the machine was too busy to write twice in a second')
  const all = ['modify deep/file', 'modify file', 'modify single']
  expect(told).toEqual(
    Object.fromEntries(ways.map((way) => [way, way.startsWith('a file') ? ['modify single'] : all])),
  )
}

describe.skipIf(!mayUnshare || !isBuilt)('two writes in a second (needs unshare -rm and dist)', () => {
  const polled = ['a directory, by polling', 'a file, by polling']

  test('on FUSE', async (context) =>
    judge(context, await playedBy<Played>(program, 'FUSE', directory()), polled))

  test.skipIf(process.getuid?.() !== 0)(
    'on ext4 with inodes of 128 bytes (needs root and loop devices)',
    async (context) => {
      const ways = [...polled, 'a directory, by events', 'a file, by events']
      judge(context, await playedByRoot<Played>(program, 'ext4', directory()), ways)
    },
  )
})
