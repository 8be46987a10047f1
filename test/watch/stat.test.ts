// What stat(2) says, with each change and each entry: `stat`. What is told is held against what lstat() says when all is quiet.
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Change, Stat } from '../../src/index.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'
import { RENAME_EXCHANGE, renameWith, watching } from './support.ts'

/** A directory's size and times are those of when it was told of: what comes into it is told by itself. */
function shownAt(path: string, look: typeof lstatSync = lstatSync): Partial<Stat> {
  const stats = look(path)
  const { size, mode, ino } = stats
  if (stats.isDirectory()) return { mode, ino }
  return { size, mode, mtimeMs: stats.mtimeMs, ino }
}

function withStats(changes: readonly Change[]): Array<Change & { stat?: Stat; otherStat?: Stat }> {
  return changes.filter((change) => 'mask' in change)
}

describe.each([
  { backend: 'inotify' },
  { backend: 'poll' },
  { backend: 'inotify', settle: 30 },
  { backend: 'inotify', expand: true },
  { backend: 'poll', expand: true },
  { backend: 'inotify', ignore: (path: string) => path.endsWith('ignored') },
  { backend: 'inotify', followSymlinks: true },
] as const)('%o', (options) => {
  const looked = 'followSymlinks' in options ? statSync : lstatSync

  async function shown(root: string, more = {}) {
    const { watcher, told } = await watching(root, { recursive: true, stat: true, ...options, ...more })
    /** What has been told; fails where an entry is shown otherwise than it is. */
    const changes = async () => {
      const all = await told()
      for (const { path, stat } of watcher.entries()) {
        // A link that leads nowhere is shown itself.
        expect(stat, path).toMatchObject(shownAt(path, existsSync(path) ? looked : lstatSync))
      }
      return all
    }
    return { watcher, changes }
  }

  test('what is there at first', async () => {
    const root = scratch()
    mkdirSync(join(root, 'd/e'), { recursive: true })
    writeFileSync(join(root, 'd/e/f'), 'twelve bytes')
    writeFileSync(join(root, 'g'), '')
    symlinkSync('nowhere', join(root, 'link'))
    const { watcher, changes } = await shown(root)
    await changes()
    const stats = new Map([...watcher.entries()].map(({ path, stat }) => [path, stat]))
    expect(stats.size).toBe(6)
    expect(stats.get(join(root, 'd/e/f'))).toEqual(shownAt(join(root, 'd/e/f')))
    expect(stats.get(root)).toMatchObject(shownAt(root))
  })

  test('each as new: `initial`', async () => {
    const root = scratch()
    mkdirSync(join(root, 'd/e'), { recursive: true })
    writeFileSync(join(root, 'd/e/f'), 'twelve bytes')
    const { changes } = await shown(root, { initial: true })
    const all = withStats(await changes())
    expect(all.filter(({ type }) => type === 'create').length).toBeGreaterThanOrEqual(3)
    for (const { path, stat } of all) expect(stat, path).toMatchObject(shownAt(path))
  })

  test('what comes, is written, has its mode or its times changed', async () => {
    const root = scratch()
    const { changes } = await shown(root)
    writeFileSync(join(root, 'f'), 'some')
    mkdirSync(join(root, 'd/e'), { recursive: true })
    writeFileSync(join(root, 'd/e/g'), 'more')
    symlinkSync('f', join(root, 'l'))
    const isTold = async (path: string) => {
      const told = withStats(await changes()).filter((change) => change.path === join(root, path))
      expect(told.at(-1)?.stat, path).toMatchObject(shownAt(join(root, path)))
    }
    const first = withStats(await changes())
    expect(first.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['f', 'd', 'd/e', 'd/e/g'].map((path) => join(root, path))),
    )
    for (const { type, path, stat } of first)
      if (type === 'create') expect(stat, path).toMatchObject({ ino: looked(path).ino })
    writeFileSync(join(root, 'd/e/g'), 'another length')
    await isTold('d/e/g')
    truncateSync(join(root, 'd/e/g'))
    await isTold('d/e/g')
    chmodSync(join(root, 'f'), 0o640)
    await isTold('f')
    utimesSync(join(root, 'f'), 1000.25, 2000.5)
    await isTold('f')
    chmodSync(join(root, 'd'), 0o700)
    await isTold('d')
  })

  test('what is renamed, replaced and exchanged, and what is made by the same name again', async () => {
    const root = scratch()
    mkdirSync(join(root, 'd'))
    mkdirSync(join(root, 'e'))
    for (const [name, text] of Object.entries({ a: '1', b: '22', 'd/f': '333', 'e/f': '4444', 'd/g': '5' }))
      writeFileSync(join(root, name), text)
    const { watcher, changes } = await shown(root)
    await changes()
    renameSync(join(root, 'a'), join(root, 'n'))
    expect(withStats(await changes())[0]).toMatchObject({ type: 'rename', stat: shownAt(join(root, 'n')) })
    renameWith(RENAME_EXCHANGE, join(root, 'n'), join(root, 'b'))
    const [exchange] = withStats(await changes())
    const [path, other] = exchange?.type === 'exchange' ? [exchange.path, exchange.other] : []
    expect([exchange?.stat, exchange?.otherStat]).toEqual(
      [path, other].map((each) => shownAt(each as string)),
    )
    renameWith(RENAME_EXCHANGE, join(root, 'd'), join(root, 'e'))
    await changes()
    renameSync(join(root, 'd/f'), join(root, 'b'))
    await changes()
    renameSync(join(root, 'd'), join(root, 'm'))
    for (const { path, type, stat } of withStats(await changes()))
      if (type === 'rename') expect(stat, path).toMatchObject(shownAt(path))
    unlinkSync(join(root, 'n'))
    writeFileSync(join(root, 'n'), 'made again')
    await changes()
    rmSync(join(root, 'm'), { recursive: true })
    const gone = withStats(await changes())
    expect(gone.every(({ type, stat }) => type === 'delete' && stat === undefined)).toBe(true)
    expect([...watcher.entries(join(root, 'm'))]).toEqual([])
  })

  test('a tree that moves in, of many files', async () => {
    const root = scratch()
    const away = scratch()
    for (let i = 0; i < 30; i++) {
      mkdirSync(join(away, `t/${i}`), { recursive: true })
      for (let j = 0; j < 30; j++) writeFileSync(join(away, `t/${i}/${j}`), 'x'.repeat(i + j))
    }
    const { changes } = await shown(root)
    renameSync(join(away, 't'), join(root, 't'))
    const all = withStats(await changes())
    expect(all).toHaveLength(931)
    for (const { path, stat } of all) expect(stat, path).toMatchObject(shownAt(path))
  })
})

test('of roots that are files, of a root that comes later, and of one within another', async () => {
  const root = scratch()
  mkdirSync(join(root, 'd/e'), { recursive: true })
  writeFileSync(join(root, 'd/e/f'), 'text')
  writeFileSync(join(root, 'alone'), 'text')
  const later = join(scratch(), 'later')
  const paths = [join(root, 'd/e'), join(root, 'd'), join(root, 'alone'), later]
  const { watcher, told } = await watching(paths, { recursive: true, stat: true, interval: 20 })
  writeFileSync(join(root, 'alone'), 'longer text')
  writeFileSync(join(root, 'd/e/f'), 'longer text')
  const changes = withStats(await told())
  expect(changes.map(({ path }) => path).sort()).toEqual([join(root, 'alone'), join(root, 'd/e/f')])
  for (const { path, stat } of changes) expect(stat).toEqual(shownAt(path))
  mkdirSync(later)
  writeFileSync(join(later, 'f'), 'text')
  await told()
  const all = [...watcher.entries()]
  expect(all.map(({ path }) => path).sort()).toEqual(
    [
      join(root, 'alone'),
      join(root, 'd'),
      join(root, 'd/e'),
      join(root, 'd/e/f'),
      later,
      join(later, 'f'),
    ].sort(),
  )
  for (const { path, stat } of all) expect(stat, path).toMatchObject(shownAt(path))
})

test('of times before 1970, and of any nanosecond, as fs.Stats has them', async () => {
  const root = scratch()
  const alone = join(scratch(), 'alone')
  for (const [name, seconds] of Object.entries({
    a: -1000.5,
    b: -0.123456789,
    c: 1.000000001,
    d: 1795743458.411687,
  })) {
    writeFileSync(join(root, name), '')
    utimesSync(join(root, name), seconds, seconds)
  }
  writeFileSync(alone, '')
  utimesSync(alone, -2.25, -2.25)
  const { watcher } = await watching([root, alone], { stat: true })
  for (const { path, stat } of watcher.entries()) if (path !== root) expect(stat, path).toEqual(shownAt(path))
})

test('a modify that is held back is not told with an older stat than what was told before it', async () => {
  const root = scratch()
  writeFileSync(join(root, 'f'), '')
  const { watcher, told } = await watching(root, { stat: true, settle: 60_000 })
  const attrib = new Promise((resolve) => watcher.on('changes', (changes) => resolve(changes)))
  appendFileSync(join(root, 'f'), 'text')
  chmodSync(join(root, 'f'), 0o600)
  utimesSync(join(root, 'f'), 1000, 1000)
  await attrib
  const all = withStats(await told())
  expect(all.at(-1)).toMatchObject({ type: 'modify', stat: shownAt(join(root, 'f')) })
})

test.skipIf(!mayUnshare)('of a directory on which something is mounted (needs a mount namespace)', () => {
  const root = scratch()
  mkdirSync(join(root, 'd/m'), { recursive: true })
  const script = `mount -t tmpfs none ${root}/d/m && chmod 751 ${root}/d/m && exec ${process.execPath} -e '
    import("${join(import.meta.dirname, '../../dist/index.js')}").then(async ({ watch }) => {
      const watcher = watch("${root}", { recursive: true, stat: true })
      await watcher.ready
      const [{ stat }] = watcher.entries("${root}/d/m")
      console.log((stat.mode & 0o777).toString(8))
      await watcher.close()
    })'`
  expect(execFileSync('unshare', ['-rm', 'sh', '-c', script], { encoding: 'utf8' }).trim()).toBe('751')
})

test('none without it; and it is true or false', async () => {
  const root = scratch()
  writeFileSync(join(root, 'f'), 'text')
  const { watcher, told } = await watching(root)
  writeFileSync(join(root, 'g'), 'text')
  for (const each of [...(await told()), ...watcher.entries()]) expect(each).not.toHaveProperty('stat')
  await expect(watching(root, { stat: 1 as unknown as boolean })).rejects.toThrow(
    'options.stat must be true or false; got 1',
  )
})
