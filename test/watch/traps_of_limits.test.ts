import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type EventBatch, IN_CREATE, IN_IGNORED, IN_Q_OVERFLOW, Inotify } from '../../src/index.ts'
import { CLOCK_SLACK_MS } from '../../src/watch/clock.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { eventsUntil } from '../support/events.ts'
import { scratch } from '../support/scratch.ts'
import { AppliedAlone } from './applied_alone.ts'
import { isBuilt, WatchingChild } from './child.ts'
import { mayLimitQueue, narrowInotify } from './model/watching/observer.ts'
import { inWords, story, watching } from './support.ts'
import { directoriesIn, kernelWatches, watchingTree } from './tree.ts'

// inotify's traps of limits, names and descriptors, one test each, with the promise of each. traps.test.ts
// has the others.

const put = (path: string, content = 'x') => writeFileSync(path, content)
const options = { recursive: true, backend: 'inotify' } as const
// Longer than any test: no timer found a change.
const NEVER = 1_000_000

describe('traps', () => {
  test.skipIf(!isBuilt)(
    'unreadable subdirectory: in coverage, and tried again at a chmod (needs dist)',
    async () => {
      const root = scratch()
      chmodSync(root, 0o755)
      for (const name of ['closed', 'closed/d', 'open']) mkdirSync(join(root, name), { mode: 0o755 })
      chmodSync(join(root, 'closed'), 0)
      // Root may read every directory.
      const uid = process.getuid?.() === 0 ? { uid: 65534 } : {}
      const child = await WatchingChild.start(root, { ...options, ...uid })
      const uncovered = async () =>
        (await child.coverage()).flatMap(({ uncovered }) => uncovered.map(({ path }) => path))
      expect(await uncovered()).toEqual([join(root, 'closed')])
      put(join(root, 'open/a'))
      put(join(root, 'closed/d/a'))
      expect(story(await child.told(), root)).toEqual(['create file open/a'])
      chmodSync(join(root, 'closed'), 0o755)
      const told = story(await child.told(), root)
      expect(told[0]).toBe('attrib directory closed')
      expect(told.slice(1).toSorted()).toEqual(['create directory closed/d', 'create file closed/d/a'])
      expect(await uncovered()).toEqual([])
      put(join(root, 'closed/d/b'))
      expect(story(await child.told(), root)).toEqual(['create file closed/d/b'])
    },
  )

  test.skipIf(!isBuilt)(
    'a root that may not be read any more when one is added around it: told once when it may be (needs dist)',
    async () => {
      const root = scratch()
      chmodSync(root, 0o755)
      const inner = join(root, 'inner')
      mkdirSync(inner, { mode: 0o755 })
      put(join(inner, 'a'))
      const uid = process.getuid?.() === 0 ? { uid: 65534 } : {}
      const child = await WatchingChild.start(inner, { ...options, initial: true, ...uid })
      const applied = new AppliedAlone(root, inner).apply(await child.told())
      chmodSync(inner, 0)
      await child.add(root)
      applied.apply(await child.told())
      chmodSync(inner, 0o755)
      put(join(inner, 'b'))
      const names = [...applied.apply(await child.told()).names.keys()]
      expect(names.toSorted()).toEqual([inner, join(inner, 'a'), join(inner, 'b')].toSorted())
      put(join(inner, 'c'))
      expect(story(await child.told(), root)).toEqual(['create file inner/c'])
    },
  )

  test.skipIf(!mayUnshare || !isBuilt)(
    'limits: named, and the rest of the tree goes on (needs unshare -rm and dist)',
    async () => {
      const root = scratch()
      const directories = Array.from({ length: 30 }, (_, i) => join(root, `d${i}`))
      for (const path of directories) mkdirSync(path)
      const limited = ['sh', '-c', 'echo 12 > /proc/sys/user/max_inotify_watches && exec "$@"', 'sh']
      const child = await WatchingChild.start(root, { recursive: true, under: ['unshare', '-r', ...limited] })
      for (const path of directories) put(join(path, 'a'))
      const told = (await child.told()).map(({ path }) => path)
      const coverage = await child.coverage()
      const uncovered = coverage.flatMap((each) => each.uncovered.map(({ path }) => path))
      const silent = directories.filter(
        (path) => !told.includes(join(path, 'a')) && !uncovered.includes(path),
      )
      expect(silent).toEqual([])
      expect(uncovered.length).toBeGreaterThan(0)
      expect(child.errors[0]).toMatchObject({
        code: 'ENOSPC',
        // The namespace's own limit is the lower one, and the one that the hint says to raise.
        hint: expect.stringMatching(/user\.max_inotify_watches is 12.*\d+ in use.*sysctl/),
      })
    },
  )

  test.skipIf(!mayUnshare || !isBuilt)(
    'limits: what comes up when no watch is left is polled from then on (needs unshare -r and dist)',
    async () => {
      const root = scratch()
      const limited = ['sh', '-c', 'echo 12 > /proc/sys/user/max_inotify_watches && exec "$@"', 'sh']
      const child = await WatchingChild.start(root, {
        recursive: true,
        interval: 20,
        under: ['unshare', '-r', ...limited],
      })
      const directories = Array.from({ length: 30 }, (_, i) => join(root, `d${i}`))
      for (const path of directories) mkdirSync(path)
      await expect.poll(() => child.changes.length).toBe(30)
      for (const path of directories) put(join(path, 'a'))
      // No sync(), which polls.
      const created = () => child.changes.filter(({ type }) => type === 'create').map(({ path }) => path)
      const paths = directories.flatMap((path) => [path, join(path, 'a')])
      await expect.poll(() => created().toSorted()).toEqual(paths.toSorted())
    },
  )

  test.skipIf(!mayUnshare || !isBuilt)(
    'limits: a file that no watch is left for is polled as well (needs unshare -r and dist)',
    async () => {
      const file = join(scratch(), 'file')
      put(file)
      const none = ['sh', '-c', 'echo 0 > /proc/sys/user/max_inotify_watches && exec "$@"', 'sh']
      const child = await WatchingChild.start(file, { interval: 20, under: ['unshare', '-r', ...none] })
      expect(await child.coverage()).toMatchObject([
        { backend: 'poll', why: expect.stringContaining('ENOSPC') },
      ])
      appendFileSync(file, 'more')
      // No sync(), which polls.
      await expect.poll(() => story(child.changes.slice(0, 1), file)).toEqual(['modify file .'])
      expect(child.errors).toMatchObject([{ code: 'ENOSPC' }])
    },
  )

  test.skipIf(!mayLimitQueue)(
    'overflow: said, the exact difference, recovered, and every watch set right (needs root)',
    async () => {
      const openInotify = (options: object) => narrowInotify(16, options)
      const plant = (at: (path: string) => string) => {
        for (const path of ['gone/sub', 'kept', 'renamed/sub']) mkdirSync(at(path), { recursive: true })
        for (const path of ['gone/sub/a', 'kept/a', 'kept/b', 'renamed/sub/a']) put(at(path))
      }
      const { root, at, told, agrees } = await watchingTree(plant, {}, { openInotify })
      // An entry with the time of the last good moment, or a time shortly before, may have been written
      // since.
      const ready = Date.now()
      const before = kernelWatches() - directoriesIn(root)
      await expect.poll(() => Date.now()).toBeGreaterThan(ready + 2 * CLOCK_SLACK_MS)
      await told()
      // These fill the queue, which then drops all later events, also IN_IGNORED.
      for (let i = 0; i < 100; i++) mkdirSync(at(`kept/d${i}`))
      rmSync(at('gone'), { recursive: true })
      renameSync(at('renamed'), at('kept/renamed'))
      mkdirSync(at('new/sub'), { recursive: true })
      put(at('new/sub/a'))
      put(at('kept/a'), 'more')
      const changes = await told()
      const lines = changes.map((change) => inWords(change, root))
      expect(lines).toContain('overflow .')
      expect(lines.at(-1)).toBe('recovered .')
      // Events told the changes before the overflow, and the comparison the others. A renamed entry may have
      // had a chmod as well.
      const others = lines.filter((line) => !/kept\/d|^(overflow|recovered|attrib)|gone\//.test(line))
      expect(others.toSorted()).toEqual([
        'create directory new',
        'create directory new/sub',
        'create file new/sub/a',
        'delete directory gone',
        'modify file kept/a',
        'rename directory renamed kept/renamed',
      ])
      await agrees()
      expect(kernelWatches() - before).toBe(directoriesIn(root))
      put(at('kept/renamed/sub/a'), 'more')
      expect(story(await told(), root)).toEqual(['modify file kept/renamed/sub/a'])
    },
  )

  test.skipIf(!mayLimitQueue)(
    'max_queued_events: what it was when the instance was made (needs root)',
    async () => {
      const directory = scratch()
      using narrow = narrowInotify(16)
      using wide = new Inotify()
      for (const inotify of [narrow, wide]) inotify.add(directory, IN_CREATE)
      for (let i = 0; i < 100; i++) mkdirSync(join(directory, String(i)))
      const first = (inotify: Inotify) =>
        new Promise<EventBatch>((resolve) => void inotify.once('events', resolve))
      const masks = async (inotify: Inotify) =>
        [...(await first(inotify))].map(({ mask }) => mask & IN_Q_OVERFLOW)
      expect((await masks(narrow)).indexOf(IN_Q_OVERFLOW)).toBe(16)
      put(join(directory, 'end'))
      expect(await eventsUntil(wide, 'end')).toHaveLength(100)
    },
  )

  test('names: every name is told, and its bytes are to be had', async () => {
    const names = ['a\nb', '\x1b[31m', '-rf', 'x'.repeat(255), 'größe', ' '].map((name) => Buffer.from(name))
    names.push(Buffer.from([0xff]), Buffer.from([0xc3, 0x28]))
    const { root, lines, agrees } = await watchingTree((at) => mkdirSync(at('d')))
    using inotify = new Inotify()
    inotify.add(join(root, 'd'), IN_CREATE)
    const path = (name: Buffer) => Buffer.concat([Buffer.from(`${root}/d/`), name])
    for (const name of names) mkdirSync(path(name))
    expect((await lines()).toSorted()).toEqual(names.map((name) => `create directory d/${name}`).toSorted())
    put(join(root, 'd/end'))
    const bytes: string[] = []
    for await (const batch of inotify) {
      for (let i = 0; i < batch.length; i++) bytes.push(batch.nameBytes(i).toString('hex'))
      if (batch.name(batch.length - 1) === 'end') break
    }
    expect(bytes.slice(0, -1)).toEqual(names.map((name) => name.toString('hex')))
    await lines()
    // The directories of such names get a file each.
    for (const name of names) writeFileSync(Buffer.concat([path(name), Buffer.from('/f')]), 'x')
    expect((await lines()).toSorted()).toEqual(names.map((name) => `create file d/${name}/f`).toSorted())
    for (const name of names.slice(-2)) rmSync(path(name), { recursive: true })
    await agrees()
  })

  test('wd numbers: they rise, and what a retired one stood for is nothing else', async () => {
    using inotify = new Inotify()
    const directory = scratch()
    const first = inotify.add(directory, IN_CREATE)
    inotify.remove(first)
    expect(inotify.add(directory, IN_CREATE)).toBeGreaterThan(first)
    put(join(directory, 'end'))
    const [ignored, ...others] = await eventsUntil(inotify, 'end')
    expect(ignored).toMatchObject({ wd: first, mask: IN_IGNORED })
    expect(others).toEqual([])

    const { at, lines, agrees } = await watchingTree()
    for (let i = 0; i < 50; i++) {
      mkdirSync(at('d/e'), { recursive: true })
      put(at(`d/e/${i}`))
      if (i % 5 === 0) expect((await lines()).at(-1)).toBe(`create file d/e/${i}`)
      rmSync(at('d'), { recursive: true })
    }
    await agrees()
  })

  test('fork: no child has the queue', async () => {
    await watchingTree((at) => mkdirSync(at('d')))
    const { stdout } = spawnSync('sh', ['-c', 'ls -l /proc/self/fd'], { encoding: 'utf8' })
    expect(stdout).toContain('/proc/')
    expect(stdout).not.toContain('inotify')
  })

  test('proc, cgroup: what they cannot tell is said', async () => {
    const proc = await watching('/proc/sys/fs/inotify', { recursive: true, interval: NEVER })
    expect(proc.watcher.coverage()).toMatchObject([{ backend: 'poll', why: expect.stringContaining('proc') }])
    const cgroup = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find(
      (path) => existsSync(path) && statfsSync(path).type === 0x63677270,
    )
    if (cgroup === undefined) return
    const { watcher } = await watching(cgroup, { recursive: true, interval: NEVER })
    expect(watcher.coverage()[0]).toMatchObject({
      backend: 'inotify',
      why: expect.stringContaining('cgroup'),
    })
  })
})
