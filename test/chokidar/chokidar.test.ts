// inotify-bridge/chokidar, tested against chokidar's documentation. The events before 'ready', and
// getWatched(), are compared with chokidar itself, 5 and 6.
import * as fs from 'node:fs'
import { basename, join, relative } from 'node:path'
import chokidar from 'chokidar'
import chokidar6 from 'chokidar6'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ChokidarOptions, FSWatcher, watch } from '../../src/entries/chokidar.ts'
import { roomy, rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'

interface Followed {
  watcher: FSWatcher
  /** Returns the events since the last call, for all changes before this call. */
  told(): Promise<string[]>
}

/** Makes a, b.txt, d/, d/e/, d/e/f, d/g.txt, link to d/g.txt, linked to d/e. */
function plant(): string {
  const root = scratch()
  fs.mkdirSync(join(root, 'd/e'), { recursive: true })
  for (const name of ['a', 'b.txt', 'd/e/f', 'd/g.txt']) fs.writeFileSync(join(root, name), name)
  fs.symlinkSync('d/g.txt', join(root, 'link'))
  fs.symlinkSync('d/e', join(root, 'linked'))
  return root
}

let markers = 0

/** @param at a directory in which a marker is told, whatever is ignored */
async function followed(
  root: string,
  options: ChokidarOptions = {},
  paths: string | string[] = root,
  at = root,
) {
  const watcher = watch(paths, options)
  onTestFinished(() => watcher.close())
  let events: string[] = []
  let told = () => {}
  watcher.on('all', (event, path) => {
    const absolute = path.startsWith('/') ? path : join(options.cwd ?? process.cwd(), path)
    events.push(`${event} ${relative(root, absolute) || '.'}`)
    told()
  })
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  const until = async (marker: string) => {
    while (!events.includes(marker))
      await new Promise<void>((resolve) => {
        told = resolve
      })
  }
  const followed: Followed = {
    watcher,
    // Events that wait for an entry to come back are told before the unlink of a later marker.
    async told() {
      const marker = join(at, `marker${markers++}`)
      const name = relative(root, marker)
      fs.writeFileSync(marker, '')
      await until(`add ${name}`)
      fs.rmSync(marker)
      await until(`unlink ${name}`)
      const all = events.filter((event) => !event.endsWith(name))
      events = []
      return all
    },
  }
  return followed
}

async function firstOf(
  library: { watch(paths: string | string[], options: ChokidarOptions): FSWatcher },
  paths: string | string[],
  options: ChokidarOptions,
) {
  const events: string[] = []
  const watcher = library.watch(paths, options)
  watcher.on('all', (event, path, stats) => {
    // A file that was just made may be told as changed.
    if (event === 'change') return
    events.push([event, path, stats === undefined ? '' : `${stats.isDirectory()} ${stats.size}`].join(' '))
  })
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  const watched = watcher.getWatched()
  await watcher.close()
  return { events: events.sort(), watched }
}

const ORIGINALS = [
  ['chokidar 5', chokidar],
  ['chokidar 6', chokidar6],
] as unknown as Array<[string, { watch: typeof watch }]>

/** Cases of which chokidar 6 alone has other events or another getWatched(): the table of docs/chokidar.md. */
const UNLIKE_6 = ['what is not there', 'ignored by a path and what is below', 'ignored by stats']

describe.each(ORIGINALS)('what is there, as %s tells it', (version, own) => {
  test.each<[string, (root: string) => [string | string[], ChokidarOptions]]>([
    ['a directory', (root) => [root, {}]],
    ['nothing', (root) => [root, { ignoreInitial: true }]],
    ['one of a relative path', (root) => [relative(process.cwd(), root), {}]],
    ['a path that is not normal', (root) => [`${root}/d/../d`, {}]],
    ['a file', (root) => [join(root, 'a'), {}]],
    ['several', (root) => [[join(root, 'a'), join(root, 'd/e')], {}]],
    ['one within another', (root) => [[root, join(root, 'd')], {}]],
    ['what is not there', (root) => [join(root, 'nothing/at/all'), {}]],
    ['by cwd', (root) => ['.', { cwd: root }]],
    ['several by cwd', (root) => [['d', 'a'], { cwd: root }]],
    ['depth 0', (root) => [root, { depth: 0 }]],
    ['depth 1', (root) => [root, { depth: 1 }]],
    ['links are not followed', (root) => [root, { followSymlinks: false }]],
    ['ignored by a name', (root) => [root, { ignored: /\.txt$/ }]],
    ['ignored by a path', (root) => [root, { ignored: join(root, 'd') }]],
    [
      'ignored by a path and what is below',
      (root) => [root, { ignored: { path: join(root, 'd'), recursive: true } }],
    ],
    ['ignored by a relative path, with cwd', (root) => ['.', { cwd: root, ignored: 'd/e' }]],
    ['ignored by a function', (root) => [root, { ignored: (path) => basename(path) === 'e' }]],
    [
      'ignored by stats',
      (root) => [root, { ignored: (path, stats) => stats?.isFile() === true && !path.endsWith('.txt') }],
    ],
    ['ignored by several', (root) => [root, { ignored: [/a$/, (path) => path.endsWith('f')] }]],
    ['ignored itself', (root) => [root, { ignored: root }]],
    ['by polls', (root) => [root, { usePolling: true, interval: 20 }]],
  ])('%s', async (name, asked) => {
    const [paths, options] = asked(plant())
    const [ours, theirs] = [await firstOf({ watch }, paths, options), await firstOf(own, paths, options)]
    // chokidar decides if there are stats, unless the options ask for them.
    const withoutStats = (events: string[]) => [
      ...new Set(events.map((each) => each.split(' ').slice(0, 2).join(' '))),
    ]
    const [told, expected] = [ours, theirs].map(({ events, watched }) => [withoutStats(events), watched])
    if (version === 'chokidar 6' && UNLIKE_6.includes(name)) expect(told).not.toEqual(expected)
    else expect(told).toEqual(expected)
  })

  test('with stats', async () => {
    const root = plant()
    const options = { alwaysStat: true, followSymlinks: false }
    const [ours, theirs] = [await firstOf({ watch }, root, options), await firstOf(own, root, options)]
    expect(ours.events).toEqual(theirs.events)
  })
})

// The table of docs/chokidar.md.
test('chokidar 6 has other names for polling, polls without atomic, and adds nothing after close()', async () => {
  const polling = new chokidar6.FSWatcher({
    backend: 'polling',
    pollingInterval: 20,
    pollingBinaryInterval: 30,
  })
  expect(polling.options).toMatchObject({ interval: 20, binaryInterval: 30, atomic: false })
  await polling.close()
  expect(() => polling.add('.')).toThrow('after FSWatcher.close()')
})

describe.each<ChokidarOptions>([
  {},
  { usePolling: true, interval: 20 },
  { alwaysStat: true },
  { ignoreInitial: true },
])('%o', (options) => {
  test('files come, change and go', async () => {
    const root = plant()
    const { told } = await followed(root, options)
    await told()
    fs.writeFileSync(join(root, 'd/new'), 'text')
    expect(await told()).toEqual(['add d/new'])
    fs.writeFileSync(join(root, 'd/new'), 'other text')
    expect(new Set(await told())).toEqual(new Set(['change d/new']))
    fs.rmSync(join(root, 'd/new'))
    expect(await told()).toEqual(['unlink d/new'])
    fs.writeFileSync(join(root, 'd/g.txt'), 'by its link, too')
    expect(new Set(await told())).toEqual(new Set(['change d/g.txt', 'change link']))
  })

  test('directories come, move and go, with what is in them', async () => {
    const root = plant()
    const { told } = await followed(root, { ...options, atomic: false, followSymlinks: false })
    await told()
    fs.mkdirSync(join(root, 'n/m'), { recursive: true })
    fs.writeFileSync(join(root, 'n/m/f'), '')
    expect((await told()).slice(0, 3)).toEqual(['addDir n', 'addDir n/m', 'add n/m/f'])
    fs.renameSync(join(root, 'n'), join(root, 'o'))
    const moved = await told()
    expect([...moved].sort()).toEqual(
      ['unlink n/m/f', 'unlinkDir n/m', 'unlinkDir n', 'addDir o', 'addDir o/m', 'add o/m/f'].sort(),
    )
    expect(moved.indexOf('addDir o')).toBeLessThan(moved.indexOf('add o/m/f'))
    fs.rmSync(join(root, 'o'), { recursive: true })
    expect((await told()).sort()).toEqual(['unlink o/m/f', 'unlinkDir o', 'unlinkDir o/m'])
  })
})

test('a root that goes and comes: all that is in it, each time', async () => {
  const base = scratch()
  const root = join(base, 'root')
  fs.mkdirSync(root)
  const { told } = await followed(base, { atomic: false }, [root, base], base)
  await told()
  for (const _ of [1, 2]) {
    fs.mkdirSync(join(root, 'd'), { recursive: true })
    fs.writeFileSync(join(root, 'd/f'), '')
    await told()
    fs.renameSync(root, join(base, 'away'))
    expect([...(await told())].sort()).toEqual(
      [
        'unlinkDir root',
        'unlinkDir root/d',
        'unlink root/d/f',
        'addDir away',
        'addDir away/d',
        'add away/d/f',
      ].sort(),
    )
    fs.renameSync(join(base, 'away'), root)
    expect((await told()).filter((event) => /root/.test(event)).sort()).toEqual([
      'add root/d/f',
      'addDir root',
      'addDir root/d',
    ])
  }
})

test('a root alone that is renamed away: what was in it is gone; what comes in its place is told', async () => {
  const base = scratch()
  const [root, beside] = [join(base, 'root'), join(base, 'beside')]
  for (const each of [join(root, 'd'), beside]) fs.mkdirSync(each, { recursive: true })
  fs.writeFileSync(join(root, 'd/f'), '')
  const { told } = await followed(base, { atomic: false }, [root, beside], beside)
  await told()
  fs.renameSync(root, join(base, 'away'))
  expect(await told()).toEqual(['unlink root/d/f', 'unlinkDir root/d', 'unlinkDir root'])
  fs.mkdirSync(root)
  fs.writeFileSync(join(root, 'other'), '')
  await expect.poll(told).toEqual(expect.arrayContaining(['addDir root', 'add root/other']))
})

test('a file that is not there yet, and one that is watched alone', async () => {
  const root = scratch()
  const [missing, beside] = [join(root, 'later/f'), join(root, 'beside')]
  fs.mkdirSync(beside)
  const { told } = await followed(root, {}, [missing, beside], beside)
  await told()
  fs.mkdirSync(join(root, 'later'))
  fs.writeFileSync(missing, '')
  await expect.poll(told).toEqual(['add later/f'])
  fs.appendFileSync(missing, 'text')
  await expect.poll(told).toEqual(['change later/f'])
  fs.rmSync(missing)
  await expect.poll(told).toEqual(['unlink later/f'])
})

test('what editors write beside a file is not told, and the file has changed', async () => {
  const root = scratch()
  fs.writeFileSync(join(root, 'f'), 'text')
  const { watcher, told } = await followed(root)
  await told()
  for (const name of ['.f.swp', 'f~']) fs.writeFileSync(join(root, name), '')
  fs.renameSync(join(root, 'f'), join(root, 'f~'))
  fs.writeFileSync(join(root, 'f'), 'other text')
  fs.rmSync(join(root, '.f.swp'))
  expect(new Set(await told())).toEqual(new Set(['change f']))
  expect(watcher.getWatched()[root]).toEqual(['f'])
})

describe('unwatch and add', () => {
  test.each([{}, { ignoreInitial: true }, { cwd: '/' }])('of what lies in a root: %o', async (options) => {
    const root = plant()
    const { watcher, told } = await followed(root, { ...options, followSymlinks: false })
    await told()
    watcher.unwatch(join(root, 'd'))
    fs.writeFileSync(join(root, 'd/g.txt'), 'other')
    fs.writeFileSync(join(root, 'a'), 'other')
    expect(new Set(await told())).toEqual(new Set(['change a']))
    expect(Object.keys(watcher.getWatched()).some((path) => path.endsWith('/d'))).toBe(false)
    watcher.add(join(root, 'd'))
    await expect.poll(() => Object.keys(watcher.getWatched()).some((path) => path.endsWith('/d'))).toBe(true)
    await told()
    fs.writeFileSync(join(root, 'd/g.txt'), 'more')
    expect(new Set(await told())).toEqual(new Set(['change d/g.txt']))
  })

  test('of a root', async () => {
    const [root, other] = [plant(), plant()]
    const { watcher, told } = await followed(root, {}, [root, other])
    await told()
    watcher.unwatch(other)
    fs.writeFileSync(join(other, 'a'), 'other')
    fs.writeFileSync(join(root, 'a'), 'other')
    expect(new Set(await told())).toEqual(new Set(['change a']))
    expect(Object.keys(watcher.getWatched())).not.toContain(other)
  })
})

test('stats are those of the file when it is told', async () => {
  const root = scratch()
  const watcher = watch(root, { alwaysStat: true })
  onTestFinished(() => watcher.close())
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  const [path, stats] = await new Promise<[string, fs.Stats | undefined]>((resolve) => {
    watcher.once('add', (...args) => resolve([args[0], args[1]]))
    fs.writeFileSync(join(root, 'f'), 'four')
  })
  const now = fs.statSync(path)
  expect(stats).toBeInstanceOf(fs.Stats)
  expect([stats?.size, stats?.isFile(), stats?.isDirectory(), stats?.ino]).toEqual([4, true, false, now.ino])
  expect(stats?.mtime).toEqual(now.mtime)
})

test.each([true, false])('stats of what links lead to, with followSymlinks: %s', async (followSymlinks) => {
  const root = scratch()
  const outside = scratch()
  fs.writeFileSync(join(outside, 'f'), 'twelve bytes')
  const watcher = watch(root, { alwaysStat: true, followSymlinks })
  onTestFinished(() => watcher.close())
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  const shown = new Map<string, unknown>()
  watcher.on('all', (_, path, stats) => void shown.set(basename(path), stats && [stats.ino, stats.size]))
  for (const [name, to] of [
    ['file', 'f'],
    ['directory', ''],
    ['nowhere', 'none'],
  ] as const)
    fs.symlinkSync(join(outside, to), join(root, name))
  await expect.poll(() => shown.size).toBeGreaterThanOrEqual(3)
  for (const name of ['file', 'directory', 'nowhere']) {
    const path = join(root, name)
    const { ino, size } = followSymlinks && fs.existsSync(path) ? fs.statSync(path) : fs.lstatSync(path)
    expect(shown.get(name), name).toEqual([ino, size])
  }
})

test('with alwaysStat, events come in their order, and what has gone by then has no stats', async () => {
  const root = scratch()
  const watcher = watch(root, { alwaysStat: true })
  onTestFinished(() => watcher.close())
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  const told: string[] = []
  watcher.on(
    'all',
    (event, path, stats) => void told.push(`${event} ${basename(path)} ${stats?.size ?? '-'}`),
  )
  for (const name of ['a', 'b', 'c']) fs.writeFileSync(join(root, name), name.repeat(3))
  fs.rmSync(join(root, 'b'))
  await expect.poll(() => told).toEqual(['add a 3', 'add b -', 'add c 3', 'unlink b -'])
})

test('without listeners an error is an uncaught one; with ignorePermissionErrors there is none', async () => {
  const watcher = new FSWatcher({ ignorePermissionErrors: true })
  onTestFinished(() => watcher.close())
  const errors: unknown[] = []
  watcher.on('error', (error) => void errors.push(error)).add('x'.repeat(5000))
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  expect(errors).toMatchObject([{ code: 'ENAMETOOLONG' }])
})

test.each([[''], [[1]], [undefined]])('a path that is %j is refused', (paths) => {
  expect(() => watch(paths as unknown as string)).toThrow('Non-string or empty path')
})

test('after close() nothing is told, and close() again does nothing', async () => {
  const root = plant()
  const watcher = watch(root)
  const events: string[] = []
  watcher.on('all', (event) => void events.push(event))
  await watcher.close()
  fs.writeFileSync(join(root, 'a'), 'other')
  await watcher.close()
  expect([events, watcher.closed]).toEqual([[], true])
  const ready = watch(root)
  await new Promise<void>((resolve) => ready.once('ready', resolve))
  await ready.close()
  expect(ready.listenerCount('ready')).toBe(0)
})

const FILES = rounds(undefined, { quick: 5_000, long: 20_000 })

test(`a burst of ${FILES} creates: each is told`, { timeout: 120_000 }, async () => {
  const root = scratch(roomy)
  const { told } = await followed(root)
  for (let i = 0; i < FILES; i++) fs.writeFileSync(join(root, `${i}`), '')
  const events = await told()
  expect(new Set(events.filter((event) => event.startsWith('add ')))).toEqual(
    new Set(Array.from({ length: FILES }, (_, i) => `add ${i}`)),
  )
})
