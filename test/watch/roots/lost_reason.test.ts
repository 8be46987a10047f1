// The reason of a lost root, and its kind before and after: for directories, files, and roots in the tree of
// another.

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt, WatchingChild } from '../child.ts'
import { watching } from '../support.ts'

const NEVER = 1_000_000

/** 'lost directory renamed', 'restored file', in the order in which it was told of a path. */
function about(path: string, changes: readonly Change[]): string[] {
  return changes.flatMap((change) => {
    if (change.path !== path) return []
    if (change.type === 'lost') return [`lost ${change.kind} ${change.reason}`]
    return change.type === 'restored' ? [`restored ${change.kind}`] : []
  })
}

const REASONS: ReadonlyArray<
  [
    what: string,
    act: (path: string) => void,
    byEvents: { [kind: string]: string[] },
    byPolls: { [kind: string]: string[] },
  ]
> = [
  [
    'deleted',
    (path) => rmSync(path, { recursive: true }),
    { file: ['lost file deleted'], directory: ['lost directory deleted'] },
    { file: ['lost file deleted'], directory: ['lost directory deleted'] },
  ],
  [
    'renamed',
    (path) => renameSync(path, `${path}-away`),
    { file: ['lost file renamed'], directory: ['lost directory renamed'] },
    { file: ['lost file deleted'], directory: ['lost directory deleted'] },
  ],
  [
    'deleted with what it lies in',
    (path) => rmSync(dirname(path), { recursive: true }),
    { file: ['lost file deleted'], directory: ['lost directory deleted'] },
    { file: ['lost file deleted'], directory: ['lost directory deleted'] },
  ],
  [
    'replaced by a file, or a directory',
    (path) => {
      renameSync(path, `${path}-away`)
      mkdirSync(`${path}-new`)
      renameSync(`${path}-new`, path)
    },
    // An event says what happened to the one that was watched.
    {
      file: ['lost file replaced'],
      directory: ['lost directory renamed', 'restored directory'],
    },
    { file: ['lost file replaced'], directory: ['lost directory replaced', 'restored directory'] },
  ],
]

describe.each(['inotify', 'poll'] as const)('by %s', (backend) => {
  describe.each(['directory', 'file'] as const)('a %s', (kind) => {
    test.each(REASONS)('%s', async (_, act, byEvents, byPolls) => {
      const path = join(scratch(), 'in/root')
      mkdirSync(kind === 'directory' ? path : dirname(path), { recursive: true })
      if (kind === 'file') writeFileSync(path, '')
      const { changes, watcher } = await watching(path, { backend, interval: NEVER })
      act(path)
      await watcher.sync()
      await watcher.sync()
      const expected = (backend === 'inotify' ? byEvents : byPolls)[kind] as string[]
      expect(about(path, changes).slice(0, expected.length)).toEqual(expected)
    })
  })

  test('a root that lies in the tree of another is lost as that one says', async () => {
    const outer = scratch()
    const [gone, moved, swapped] = ['gone', 'moved', 'swapped'].map((name) => join(outer, 'in', name)) as [
      string,
      string,
      string,
    ]
    for (const path of [gone, moved, swapped]) mkdirSync(path, { recursive: true })
    const { watcher, changes } = await watching([outer, gone, moved, swapped], {
      backend,
      interval: NEVER,
      recursive: true,
    })
    rmSync(gone, { recursive: true })
    renameSync(moved, join(outer, 'elsewhere'))
    await watcher.sync()
    expect([gone, moved].map((path) => about(path, changes))).toEqual([
      ['lost directory deleted'],
      ['lost directory renamed'],
    ])
    renameSync(swapped, join(outer, 'away'))
    mkdirSync(swapped)
    await watcher.sync()
    expect(about(swapped, changes)).toEqual(['lost directory replaced', 'restored directory'])
    changes.length = 0
    rmSync(outer, { recursive: true })
    await watcher.sync()
    expect([outer, swapped].map((path) => about(path, changes))).toEqual([
      ['lost directory deleted'],
      ['lost directory deleted'],
    ])
  })

  test('a symlink that leads nowhere any more, and to another directory', async () => {
    const base = scratch()
    const link = join(base, 'link')
    for (const name of ['one', 'two']) mkdirSync(join(base, name))
    symlinkSync('one', link)
    const { watcher, changes } = await watching(link, { backend, interval: NEVER })
    symlinkSync('two', `${link}-new`)
    renameSync(`${link}-new`, link)
    await watcher.sync()
    expect(about(link, changes)).toEqual(['lost directory replaced', 'restored directory'])
    changes.length = 0
    rmSync(link)
    await watcher.sync()
    expect(about(link, changes)).toEqual(['lost directory deleted'])
  })
})

test.skipIf(!isBuilt || process.getuid?.() !== 0)(
  'what may not be reached any more is unreadable (needs dist and root)',
  async () => {
    const base = scratch()
    chmodSync(base, 0o755)
    mkdirSync(join(base, 'in/root'), { recursive: true })
    writeFileSync(join(base, 'in/file'), '')
    const paths = ['root', 'file'].map((name) => join(base, 'in', name))
    const child = await WatchingChild.start(paths, { uid: 12345, backend: 'poll', interval: NEVER })
    chmodSync(join(base, 'in'), 0)
    const lost = await child.told()
    expect(paths.map((path) => about(path, lost))).toEqual([
      ['lost directory unreadable'],
      ['lost file unreadable'],
    ])
    chmodSync(join(base, 'in'), 0o755)
    const restored = await child.told()
    expect(paths.map((path) => about(path, restored).at(-1))).toEqual(['restored directory', 'restored file'])
  },
)

test('one that the other ignores from now on is told by it as deleted, and is there by itself', async () => {
  const outer = scratch()
  const inner = join(outer, 'in')
  mkdirSync(inner)
  const { watcher, changes } = await watching([outer, inner], { recursive: true })
  await watcher.setIgnore([inner])
  await watcher.sync()
  expect(about(inner, changes)).toEqual(['lost directory deleted', 'restored directory'])
})

describe.skipIf(!mayUnshare || !isBuilt)('mounts (needs unshare -rm and dist)', () => {
  test.each(['inotify', 'poll'])('what was unmounted, and what was mounted over: %s', (backend) => {
    const program = [process.execPath, join(import.meta.dirname, 'lost_mounts.mjs'), backend, scratch()]
    const said = execFileSync('unshare', ['-rm', ...program], { encoding: 'utf8', timeout: 60_000 })
    expect(JSON.parse(said)).toEqual([
      ['lost directory /point unmounted', 'restored directory /point'],
      ['lost directory /plain replaced', 'restored directory /plain'],
      ['lost directory /outer/in unmounted', 'lost file /outer/file unmounted'],
    ])
  })
})
