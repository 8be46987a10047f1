import { closeSync, mkdirSync, openSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Listing } from '../../../src/watch/scan/listing.ts'
import { Walker } from '../../../src/watch/scan/walker.ts'
import { scratch } from '../../support/scratch.ts'
import { untilPast } from '../regressions/losing.ts'
import { Replay, reality, story, watching } from '../support.ts'

// Roots that go and come: 'lost' and 'restored'.

const BACKENDS = ['inotify', 'poll'] as const
// Longer than any test: sync(), and no timer, found a change.
const NEVER = 1_000_000

const write = (directory: string, name: string) => writeFileSync(join(directory, name), 'x')

describe.each(BACKENDS)('%s', (backend) => {
  const options = { backend, interval: NEVER }

  test.each<[string, (root: string, base: string) => void]>([
    ['removed', (root) => rmSync(root, { recursive: true })],
    ['renamed', (root, base) => renameSync(root, join(base, 'elsewhere'))],
    [
      'made a file',
      (root) => {
        rmSync(root, { recursive: true })
        writeFileSync(root, '')
      },
    ],
  ])('%s, and there again with other entries', async (_, go) => {
    const base = scratch()
    const root = join(base, 'root')
    mkdirSync(root)
    write(root, 'a')
    write(root, 'b')
    const { watcher, told } = await watching(root, options)
    const replay = new Replay()
    for (const [path, kind] of reality(root)) replay.names.set(path, kind)
    go(root, base)
    const lost = await told()
    expect(lost.at(-1)).toMatchObject({ type: 'lost', path: root })
    expect(watcher.coverage()).toMatchObject([{ path: root, directories: 0 }])
    expect(await told()).toEqual([])

    rmSync(root, { force: true })
    mkdirSync(root)
    mkdirSync(join(root, 'a'))
    write(root, 'c')
    const restored = await told()
    expect(restored[0]).toMatchObject({ type: 'restored', path: root })
    replay.apply([...lost, ...restored])
    expect(replay.names).toEqual(reality(root))
    expect(watcher.coverage()).toMatchObject([{ path: root, directories: 1 }])

    mkdirSync(join(root, 'd'))
    expect(story(await told(), root)).toEqual(['create directory d'])
  })

  test('an ancestor was renamed, of which no event tells: no ghosts', async () => {
    const base = scratch()
    const [parent, root] = [join(base, 'parent'), join(base, 'parent/root')]
    mkdirSync(root, { recursive: true })
    const { told } = await watching(root, options)
    renameSync(parent, join(base, 'moved'))
    mkdirSync(join(base, 'moved/root/ghost'))
    const lines = story(await told(), root)
    expect(lines.at(-1)).toBe('lost .')
    mkdirSync(join(base, 'moved/root/another'))
    expect(await told()).toEqual([])
    renameSync(join(base, 'moved'), parent)
    const replay = new Replay()
    replay.apply(await told())
    for (const path of lines.includes('create directory ghost') ? [join(root, 'ghost')] : [])
      replay.names.set(path, 'directory')
    expect(replay.names).toEqual(reality(root))
  })

  test('removed while a process is in it, and made anew', async () => {
    const root = join(scratch(), 'root')
    mkdirSync(root)
    const { told } = await watching(root, options)
    const held = openSync(root, 'r')
    rmdirSync(root)
    mkdirSync(root)
    write(root, 'a')
    expect(story(await told(), root)).toEqual(['lost .', 'restored .', 'create file a'])
    closeSync(held)
    mkdirSync(join(root, 'b'))
    expect(story(await told(), root)).toEqual(['create directory b'])
  })

  test('the timer finds it, without sync', async () => {
    const root = join(scratch(), 'root')
    mkdirSync(root)
    const { changes } = await watching(root, { backend, interval: 5 })
    rmdirSync(root)
    await expect.poll(() => story(changes, root)).toEqual(['lost .'])
    mkdirSync(root)
    mkdirSync(join(root, 'a'))
    await expect.poll(() => story(changes, root).toSorted()).toContain('create directory a')
    expect(story(changes, root)).toContain('restored .')
  })
})

test('inotify: an event of a root whose ancestor was renamed says that it is lost', async () => {
  const base = scratch()
  const root = join(base, 'parent/root')
  mkdirSync(join(root, 'a'), { recursive: true })
  const { changes } = await watching(root, { backend: 'inotify', interval: NEVER })
  renameSync(join(base, 'parent'), join(base, 'moved'))
  // Nothing is seen where nothing is believed to be: that alone leaves no doubt.
  rmdirSync(join(base, 'moved/root/a'))
  await expect.poll(() => story(changes, root).at(-1)).toBe('lost .')
})

test('what was found of a root that cannot be watched again, for want of a watch, is told', async () => {
  const base = scratch()
  const at = (path: string) => join(base, path)
  mkdirSync(at('tree'))
  let isFull = false
  const walk = Walker.prototype.walk
  const spy = vi.spyOn(Walker.prototype, 'walk').mockImplementation(function (
    this: Walker,
    requests,
    take,
    ...rest
  ) {
    // Its own methods need itself as `this`.
    const refused = (listing: Listing) =>
      new Proxy(listing, {
        get(target, name) {
          const value = name === 'wd' ? -constants.errno.ENOSPC : Reflect.get(target, name, target)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    return walk.call(
      this,
      requests,
      (listing) => take(isFull && listing.wd > 0 ? refused(listing) : listing),
      ...rest,
    )
  })
  onTestFinished(() => spy.mockRestore())
  const { told, watcher } = await watching(at('tree'), {
    recursive: true,
    backend: 'inotify',
    interval: NEVER,
  })
  watcher.on('error', () => {})
  renameSync(at('tree'), at('away'))
  expect(story(await told(), base)).toEqual(['lost tree'])
  writeFileSync(at('away/new'), '')
  // Waits until the file is old: a file with such young times may have been written again since the look.
  await untilPast(at('away/new'))
  isFull = true
  renameSync(at('away'), at('tree'))
  expect(story(await told(), base)).toEqual(['restored tree', 'create file tree/new', 'lost tree'])
  // The loss is not told again at each look.
  expect(story(await told(), base)).toEqual([])
  isFull = false
  expect(story(await told(), base)).toEqual(['restored tree'])
})
