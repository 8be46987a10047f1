// "A change is in the target an interval later at most": also the second of two in one tick of a clock that goes by the second or by two, which changes
// no time and no size; and on servers that give directories no new times. What varies: the layout of the source (a flat file, one in a directory, one by
// itself, new names, links, ConfigMaps), the moment within the tick, the file system. The changes are made by times.mjs, which uses dist.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { directory } from './fixture.ts'
import { playedBy, playedByRoot } from './played_by.ts'

const program = join(import.meta.dirname, 'times.mjs')
const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))
const isRoot = process.getuid?.() === 0
const has = (name: string) => spawnSync(name, ['--version']).status === 0

/** times.mjs's interval is 100 ms, and all is looked at again after 10 s: the rest is the machine's. */
const SOON = 3000

interface Played {
  unable?: string
  results: Array<{ layout: string; isOneTick: boolean; took: [number, number] }>
}

/** Asserts that no change was late, and that each layout had two changes within one tick. */
function judge({ skip }: TestContext, { unable, results }: Played, hasTicks: boolean): void {
  if (unable !== undefined) skip(`cannot be mounted here: ${unable}`)
  expect(results.filter(({ took }) => Math.max(...took) >= SOON)).toEqual([])
  const doubled = new Set(results.filter(({ isOneTick }) => isOneTick).map(({ layout }) => layout))
  if (hasTicks) expect(results.filter(({ layout }) => !doubled.has(layout))).toEqual([])
}

describe.skipIf(!mayUnshare || !isBuilt)(
  'two changes, one after the other (needs unshare -rm and dist)',
  { timeout: 120_000 },
  () => {
    test('times by the second', async (context) =>
      judge(context, await playedBy(program, 'seconds', directory()), true))

    test('times by two seconds', async (context) =>
      judge(context, await playedBy(program, 'twoSeconds', directory()), true))

    test('directories have no new times', async (context) =>
      judge(context, await playedBy(program, 'untimed', directory()), false))

    test.skipIf(!has('rclone'))('rclone (needs rclone)', async (context) =>
      judge(context, await playedBy(program, 'rclone', directory()), false),
    )

    test.skipIf(!has('mergerfs'))('mergerfs (needs mergerfs)', async (context) =>
      judge(context, await playedBy(program, 'mergerfs', directory()), false),
    )

    test.skipIf(!isRoot)('ext4 with inodes of 128 bytes (needs root and loop devices)', async (context) =>
      judge(context, await playedByRoot(program, 'ext4', directory()), true),
    )

    test.skipIf(!isRoot)('vfat (needs root and loop devices)', async (context) =>
      judge(context, await playedByRoot(program, 'vfat', directory()), true),
    )
  },
)
