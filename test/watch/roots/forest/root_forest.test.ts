// Roots in roots: the outer root tells the entries of both, and the inner one only if it is there itself.
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Change, WatchOptions } from '../../../../src/index.ts'
import { linux } from '../../../../src/watch/linux.ts'
import { Watcher } from '../../../../src/watch/watcher.ts'
import { scratch } from '../../../support/scratch.ts'
import { AppliedAlone } from '../../applied_alone.ts'
import { losing, untilPast } from '../../regressions/losing.ts'
import { namesIn } from '../../regressions/names.ts'
import { RENAME_EXCHANGE, renameWith, story } from '../../support.ts'

const NEVER = 1_000_000
const BACKENDS = ['inotify', 'poll'] as const

/**
 * Makes and watches a tree a/b/c with a file in each directory. Returns the changes in words, and applies
 * each alone.
 */
async function planted(roots: string[], options: WatchOptions = {}, system: Partial<typeof linux> = {}) {
  const base = scratch()
  const at = (path: string) => (path === '' ? base : join(base, path))
  mkdirSync(at('a/b/c'), { recursive: true })
  for (const path of ['a/f', 'a/b/f', 'a/b/c/f']) writeFileSync(at(path), '')
  const settings: WatchOptions = { recursive: true, interval: NEVER, ...options }
  const walks = { count: 0 }
  const openWalker: typeof linux.openWalker = () => {
    const walker = linux.openWalker()
    const walk: typeof walker.walk = (requests, ...others) => {
      // A request without names is a listing.
      walks.count += requests.filter(({ names }) => names === undefined).length
      return walker.walk(requests, ...others)
    }
    return new Proxy(walker, {
      get: (target, key) => {
        const value = key === 'walk' ? walk : Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
  // Waits until these files are older than any good moment: else a rescan could tell them once more.
  await untilPast(at('a/b/c/f'))
  const watcher = new Watcher(roots.map(at), settings, { ...linux, openWalker, ...system })
  onTestFinished(() => watcher.close())
  const before = namesIn(base)
  const all: Change[] = []
  let start = 0
  watcher.on('changes', (changes) => all.push(...changes))
  await watcher.ready
  const told = async () => {
    await watcher.sync()
    const since = all.slice(start)
    start = all.length
    return story(since, base)
  }
  /** Fails if the changes, each applied alone, do not lead to the tree. */
  const agrees = () => {
    const { names } = new AppliedAlone(base).adopt(before).apply(all)
    expect([...names].toSorted()).toEqual(namesIn(base).toSorted())
  }
  const covered = () => watcher.coverage().map(({ path }) => path.slice(base.length + 1))
  return { watcher, at, told, agrees, covered, walks }
}

describe.each(BACKENDS)('%s', (backend) => {
  const options = { backend }

  describe.each([
    ['the outer one first', ['a', 'a/b'], undefined],
    ['the inner one first', ['a/b', 'a'], undefined],
    ['the inner one added', ['a'], 'a/b'],
    ['the outer one added', ['a/b'], 'a'],
  ] as const)('%s', (_, roots, added) => {
    async function both(more: WatchOptions = {}) {
      const all = await planted([...roots], { ...options, ...more })
      if (added !== undefined) await all.watcher.add(all.at(added))
      return all
    }

    test('what happens in both is told once, and renames as renames', async () => {
      const { at, told, agrees, covered } = await both()
      expect(await told()).toEqual([])
      appendFileSync(at('a/b/f'), 'more')
      expect(await told()).toEqual(['modify file a/b/f'])
      renameSync(at('a/b/c'), at('a/c'))
      expect(await told()).toEqual(['rename directory a/b/c a/c'])
      renameSync(at('a/c/f'), at('a/b/g'))
      expect(await told()).toEqual(['rename file a/c/f a/b/g'])
      mkdirSync(at('a/b/d/e'), { recursive: true })
      expect(await told()).toEqual(['create directory a/b/d', 'create directory a/b/d/e'])
      agrees()
      expect(covered().toSorted()).toEqual(['a', 'a/b'])
    })

    test('the inner one is renamed, and back again', async () => {
      const { at, told, agrees } = await both()
      renameSync(at('a/b'), at('a/away'))
      expect(await told()).toEqual(['rename directory a/b a/away', 'lost a/b'])
      appendFileSync(at('a/away/f'), 'more')
      expect(await told()).toEqual(['modify file a/away/f'])
      renameSync(at('a/away'), at('a/b'))
      expect(await told()).toEqual(['rename directory a/away a/b', 'restored a/b'])
      appendFileSync(at('a/b/c/f'), 'more')
      expect(await told()).toEqual(['modify file a/b/c/f'])
      agrees()
    })

    test('the inner one leaves, and another comes', async () => {
      const { at, told, agrees } = await both()
      renameSync(at('a/b'), at('outside'))
      expect(await told()).toEqual(['delete directory a/b', 'lost a/b'])
      mkdirSync(at('a/b'))
      writeFileSync(at('a/b/new'), '')
      expect(await told()).toEqual(['create directory a/b', 'create file a/b/new', 'restored a/b'])
      rmSync(at('outside'), { recursive: true })
      agrees()
    })

    test('the inner one changes places with a neighbour', async () => {
      const { at, told, agrees } = await both()
      mkdirSync(at('a/x'))
      await told()
      renameWith(RENAME_EXCHANGE, at('a/b'), at('a/x'))
      expect(await told()).toEqual(['exchange directory a/b directory a/x', 'lost a/b', 'restored a/b'])
      appendFileSync(at('a/x/f'), 'more')
      mkdirSync(at('a/b/y'))
      expect((await told()).toSorted()).toEqual(['create directory a/b/y', 'modify file a/x/f'])
      agrees()
    })

    test('the outer one is lost, and with it the inner one', async () => {
      const { at, told } = await both()
      renameSync(at('a'), at('away'))
      expect(await told()).toEqual(['lost a', 'lost a/b'])
      mkdirSync(at('away/b/new'))
      expect(await told()).toEqual([])
      renameSync(at('away'), at('a'))
      expect(await told()).toEqual(['restored a', 'create directory a/b/new', 'restored a/b'])
    })

    test('the inner one is removed: the outer one goes on', async () => {
      const { watcher, at, told, agrees, covered } = await both()
      await watcher.remove(at('a/b'))
      mkdirSync(at('a/b/new'))
      expect(await told()).toEqual(['create directory a/b/new'])
      renameSync(at('a/b'), at('a/x'))
      expect(await told()).toEqual(['rename directory a/b a/x'])
      agrees()
      expect(covered()).toEqual(['a'])
    })

    test('the outer one is removed: the inner one goes on, nothing is lost and nothing is listed', async () => {
      const { watcher, at, told, covered, walks } = await both()
      await told()
      walks.count = 0
      appendFileSync(at('a/b/f'), 'more')
      await watcher.remove(at('a'))
      expect(walks.count).toBe(0)
      appendFileSync(at('a/b/c/f'), 'more')
      writeFileSync(at('a/new'), '')
      expect((await told()).toSorted()).toEqual(['modify file a/b/c/f', 'modify file a/b/f'])
      expect(covered()).toEqual(['a/b'])
      renameSync(at('a/b/c'), at('a/b/d'))
      mkdirSync(at('a/b/d/e'))
      expect(await told()).toEqual(['rename directory a/b/c a/b/d', 'create directory a/b/d/e'])
      renameSync(at('a/b'), at('a/x'))
      expect(await told()).toEqual(['lost a/b'])
      renameSync(at('a/x'), at('a/b'))
      writeFileSync(at('a/b/back'), '')
      // A file that was written just before the loss is told again.
      const lines = (await told()).filter((line) => !line.startsWith('modify'))
      expect(lines).toEqual(['restored a/b', 'create file a/b/back'])
    })

    test('the outer one is removed while both are lost', async () => {
      const { watcher, at, told } = await both()
      renameSync(at('a'), at('away'))
      await told()
      await watcher.remove(at('a'))
      mkdirSync(at('away/b/new'))
      renameSync(at('away'), at('a'))
      expect(await told()).toEqual(['restored a/b', 'create directory a/b/new'])
    })

    test('the outer one is removed while the inner one is lost', async () => {
      const { watcher, at, told } = await both()
      renameSync(at('a/b'), at('away'))
      await told()
      await watcher.remove(at('a'))
      renameSync(at('away'), at('a/b'))
      expect((await told()).toSorted()).toEqual([
        'create directory a/b/c',
        'create file a/b/c/f',
        'create file a/b/f',
        'restored a/b',
      ])
    })

    test('a link takes the place of the inner one: it is followed', async () => {
      const { at, told } = await both()
      mkdirSync(at('elsewhere'))
      renameSync(at('a/b'), at('a/x'))
      symlinkSync('../elsewhere', at('a/b'))
      expect(await told()).toEqual([
        'rename directory a/b a/x',
        'create symlink a/b',
        'lost a/b',
        'restored a/b',
      ])
      writeFileSync(at('elsewhere/new'), '')
      expect(await told()).toEqual(['create file a/b/new'])
      // A directory takes the link's place.
      unlinkSync(at('a/b'))
      mkdirSync(at('a/b'))
      writeFileSync(at('a/b/own'), '')
      // A poll looks for the inner root before it looks at the outer one. The entries that the inner root
      // tells are then deleted before the outer root tells them.
      const again = ['create file a/b/own', 'delete file a/b/own', 'lost a/b', 'restored a/b']
      expect((await told()).toSorted()).toEqual(
        [
          'create directory a/b',
          'create file a/b/own',
          'delete file a/b/new',
          'delete symlink a/b',
          'lost a/b',
          'restored a/b',
          ...(backend === 'poll' ? again : []),
        ].toSorted(),
      )
      appendFileSync(at('a/b/own'), 'more')
      expect(await told()).toEqual(['modify file a/b/own'])
    })

    test('what is there at first is told once', async () => {
      const { told } = await both({ initial: true })
      const lines = (await told()).toSorted()
      expect(lines).toEqual([
        'create directory a/b',
        'create directory a/b/c',
        'create file a/b/c/f',
        'create file a/b/f',
        'create file a/f',
      ])
    })

    test('the inner one is ignored in the outer one: each tells its own', async () => {
      const { at, told } = await both({ ignore: (path) => path.endsWith('/b') })
      appendFileSync(at('a/b/f'), 'more')
      appendFileSync(at('a/f'), 'more')
      expect((await told()).toSorted()).toEqual(['modify file a/b/f', 'modify file a/f'])
      rmSync(at('a/b'), { recursive: true })
      expect((await told()).at(-1)).toBe('lost a/b')
      mkdirSync(at('a/b'))
      writeFileSync(at('a/b/new'), '')
      // Events have told the deletes of the old entries already, and polls tell them only now.
      const lines = (await told()).filter((line) => !line.startsWith('delete'))
      expect(lines).toEqual(['restored a/b', 'create file a/b/new'])
    })
  })

  test('three in each other: the one in the middle, and then the outer one, are removed', async () => {
    const { watcher, at, told, covered } = await planted(['a/b/c', 'a', 'a/b'], options)
    await watcher.remove(at('a/b'))
    writeFileSync(at('a/b/c/n'), '')
    expect(await told()).toEqual(['create file a/b/c/n'])
    await watcher.add(at('a/b'))
    await watcher.remove(at('a'))
    renameSync(at('a/b/c'), at('a/b/d'))
    expect(await told()).toEqual(['rename directory a/b/c a/b/d', 'lost a/b/c'])
    await watcher.remove(at('a/b'))
    renameSync(at('a/b/d'), at('a/b/c'))
    expect(covered()).toEqual(['a/b/c'])
    expect((await told()).at(0)).toBe('restored a/b/c')
  })

  test('an inner root that is not there yet', async () => {
    const { watcher, at, told, agrees } = await planted(['a', 'a/b/x/y'], options)
    expect(watcher.coverage()).toMatchObject([
      { directories: 3 },
      { uncovered: [{ error: { code: 'ENOENT' } }] },
    ])
    mkdirSync(at('a/b/x/y'), { recursive: true })
    expect(await told()).toEqual(['create directory a/b/x', 'create directory a/b/x/y', 'restored a/b/x/y'])
    rmdirSync(at('a/b/x/y'))
    writeFileSync(at('a/b/x/y'), '')
    const lines = await told()
    expect(lines.filter((line) => line !== 'delete directory a/b/x/y').slice(0, 2)).toEqual([
      'create file a/b/x/y',
      'lost a/b/x/y',
    ])
    agrees()
  })

  test.each([true, false])('a file in a directory, recursive: %s', async (recursive) => {
    const { watcher, at, told, agrees } = await planted(['a/f', 'a'], { ...options, recursive })
    appendFileSync(at('a/f'), 'more')
    expect(await told()).toEqual(['modify file a/f'])
    chmodSync(at('a/f'), 0o600)
    expect(await told()).toEqual(['attrib file a/f'])
    unlinkSync(at('a/f'))
    expect((await told()).toSorted()).toEqual(['delete file a/f', 'lost a/f'])
    writeFileSync(at('a/f'), 'other')
    const lines = await told()
    expect(lines.filter((line) => line !== 'modify file a/f').toSorted()).toEqual([
      'create file a/f',
      'restored a/f',
    ])
    if (recursive) agrees()
    await watcher.remove(at('a'))
    appendFileSync(at('a/f'), 'more')
    expect(await told()).toEqual(['modify file a/f'])
  })

  test('a link to a file in a directory: the one tells of the link, the other what is written, of the same kind', async () => {
    const { watcher, at, told } = await planted(['a'], options)
    writeFileSync(at('target'), '')
    symlinkSync('../target', at('a/link'))
    await told()
    await watcher.add(at('a/link'))
    appendFileSync(at('target'), 'more')
    expect(await told()).toEqual(['modify symlink a/link'])
  })

  test('directories whose entries alone are watched: one in another', async () => {
    const { at, told } = await planted(['a', 'a/b'], { ...options, recursive: false })
    chmodSync(at('a/b'), 0o700)
    expect(await told()).toEqual(['attrib directory a/b'])
    writeFileSync(at('a/b/new'), '')
    expect((await told()).filter((line) => line !== 'attrib directory a/b')).toEqual(['create file a/b/new'])
    rmSync(at('a/b'), { recursive: true })
    const lines = await told()
    expect(lines.filter((line) => /a\/b$/.test(line)).toSorted()).toEqual([
      'delete directory a/b',
      'lost a/b',
    ])
  })
})

test('an overflow is told of each root, and what differs once', async () => {
  const { system, lose } = losing()
  const { at, told, agrees } = await planted(['a', 'a/b'], { backend: 'inotify' }, system)
  lose()
  renameSync(at('a/b/c'), at('a/c'))
  writeFileSync(at('a/b/new'), '')
  const lines = await told()
  expect(lines.toSorted()).toEqual(
    [
      'overflow a',
      'overflow a/b',
      'create file a/b/new',
      'rename directory a/b/c a/c',
      'recovered a',
      'recovered a/b',
    ].toSorted(),
  )
  lose()
  rmSync(at('a/b'), { recursive: true })
  // a/c was renamed so shortly before the last good moment that the rescan may tell an attrib of a/c.
  expect((await told()).filter((line) => !line.startsWith('attrib'))).toEqual([
    'overflow a',
    'overflow a/b',
    'delete directory a/b',
    'recovered a',
    'lost a/b',
  ])
  agrees()
})
