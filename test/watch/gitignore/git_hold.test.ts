// Option `deferGit`: what git changes at once is told at once.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { GitHold } from '../../../src/watch/gitignore/git_hold.ts'
import type { WatchOptions } from '../../../src/watch/options.ts'
import { scratch } from '../../support/scratch.ts'
import { inWords, Replay, reality, watching } from '../support.ts'

const hasGit = spawnSync('git', ['--version']).status === 0
const FILES = 300
/** The events of all files do not fit into one read. */
const LONG = 'file'.repeat(30)
const NEVER = 1_000_000

let made: string | undefined

/** Makes a repository with two branches, which differ in all files below `in`, and the second checked out. A checkout takes a while: git writes some slowly. */
function repository(top: string) {
  const user = ['-c', 'user.name=me', '-c', 'user.email=me@localhost']
  const git = (...words: string[]) => execFileSync('git', ['-C', top, ...user, ...words], { stdio: 'pipe' })
  if (made !== undefined) cpSync(made, top, { recursive: true })
  else {
    mkdirSync(top, { recursive: true })
    git('init', '-q', '-b', 'one')
    git('config', 'filter.slow.smudge', 'sleep 0.1; cat')
    writeFileSync(join(top, '.git/info/attributes'), '*00 filter=slow')
    for (const branch of ['one', 'two']) {
      if (branch === 'two') git('checkout', '-q', '-b', branch)
      for (let i = 0; i < FILES; i++) {
        mkdirSync(join(top, `in/${i % 20}`), { recursive: true })
        writeFileSync(join(top, `in/${i % 20}/${LONG}${i}`), `${branch} ${i}`)
      }
      git('add', '.')
      git('commit', '-q', '-m', branch)
    }
  }
  return git
}

/** Returns the batches of changes that a checkout leads to, those of .git left out. */
async function batchesOf(root: string, top: string, options: WatchOptions) {
  const { watcher } = await watching(root, { recursive: true, interval: NEVER, ...options })
  const batches: Change[][] = []
  watcher.on('changes', (changes) => {
    const files = changes.filter(({ path }) => !/\/\.git(\/|$)/.test(path))
    if (files.length > 0) batches.push(files)
  })
  const rewritten = () => new Set(batches.flat().map(({ path }) => relative(top, path))).size
  await promisify(execFile)('git', ['-C', top, 'checkout', '-q', 'one'])
  await expect.poll(rewritten).toBe(FILES)
  await watcher.sync()
  return batches
}

describe.skipIf(!hasGit)('a checkout (needs git)', () => {
  beforeAll(() => {
    const base = mkdtempSync(join(tmpdir(), 'repository-'))
    repository(base)
    made = base
    return () => rmSync(base, { recursive: true })
  })

  test.for<[string, (base: string) => { root?: string; top?: string }, WatchOptions]>([
    ['of the root', () => ({}), {}],
    ['around the root', (base) => ({ root: join(base, 'in') }), {}],
    ['below the root, beside others', (base) => ({ root: base, top: join(base, 'a/b') }), {}],
    ['with .git ignored', () => ({}), { ignore: ['.git'] }],
    ['with gitignore', () => ({}), { gitignore: true }],
    ['that is polled', () => ({}), { backend: 'poll', interval: 100 }],
  ])('%s is one batch', async ([, place, options]) => {
    const base = scratch()
    const { root = base, top = base } = place(base)
    if (top !== base) repository(join(base, 'a/other'))
    repository(top)
    expect(await batchesOf(root, top, { ...options, deferGit: true })).toHaveLength(1)
  })

  test('is several without the option', async () => {
    const top = scratch()
    repository(top)
    expect((await batchesOf(top, top, {})).length).toBeGreaterThan(1)
  })

  test('that is over before the loop hears of it is one batch', async () => {
    const top = scratch()
    repository(top)
    const { watcher } = await watching(top, { recursive: true, ignore: ['.git'], deferGit: true })
    const batches: Change[][] = []
    watcher.on('changes', (changes) => batches.push(changes))
    execFileSync('git', ['-C', top, 'checkout', '-q', 'one'])
    await expect.poll(() => batches.length).toBe(1)
    expect(new Set(batches.flat().map(({ path }) => path)).size).toBe(FILES)
    await watcher.sync()
    expect(batches).toHaveLength(1)
  })

  test('of a worktree is one batch', async () => {
    const [base, top] = [scratch(), join(scratch(), 'tree')]
    const git = repository(base)
    git('worktree', 'add', '-q', '-b', 'three', top)
    expect(await batchesOf(top, top, { deferGit: true })).toHaveLength(1)
  })

  test('of a submodule, whose .git names a directory from there on, is one batch', async () => {
    const base = scratch()
    const top = join(base, 'sub')
    repository(top)
    mkdirSync(join(base, '.git/modules'), { recursive: true })
    renameSync(join(top, '.git'), join(base, '.git/modules/sub'))
    writeFileSync(join(top, '.git'), 'gitdir: ../.git/modules/sub\n')
    expect(await batchesOf(top, top, { deferGit: true })).toHaveLength(1)
  })
})

/** Watches a directory of a repository that git has locked. */
async function locked(options: WatchOptions = {}) {
  const base = scratch()
  const [root, lock] = [join(base, 'root'), join(base, '.git/index.lock')]
  mkdirSync(join(base, '.git'))
  mkdirSync(root)
  writeFileSync(lock, '')
  const { watcher, changes } = await watching(root, { deferGit: true, interval: NEVER, ...options })
  return {
    ...{ root, lock, watcher },
    /** Makes files, and waits until the watcher knows of them. */
    async make(...names: string[]) {
      for (const name of names) {
        writeFileSync(join(root, name), '')
        await expect.poll(() => watcher.has(join(root, name))).toBe(true)
      }
    },
    told: () => changes.splice(0).map((change) => inWords(change, root)),
  }
}

test('changes are held while the lock is there, and told in their order when it is gone', async () => {
  const { root, lock, watcher, make, told } = await locked()
  await make('a', 'b')
  rmSync(join(root, 'a'))
  await make('c')
  expect(told()).toEqual([])
  const next = watcher.next({ path: join(root, 'c') })
  rmSync(lock)
  expect(await next).toMatchObject({ type: 'create' })
  expect(told()).toEqual(['create file a', 'create file b', 'delete file a', 'create file c'])
  await make('d')
  await expect.poll(told).toEqual(['create file d'])
})

test('what `settle` holds back is told with the rest', async () => {
  const { root, lock, make, told } = await locked({ settle: NEVER })
  await make('a')
  writeFileSync(join(root, 'a'), 'more')
  // The lock is looked at behind what was queued when 'a' came.
  await make('b')
  rmSync(lock)
  await expect.poll(told).toEqual(['create file a', 'create file b', 'modify file a', 'modify file b'])
})

test('a .gitignore is told with what it brings up', async () => {
  const { root, lock, watcher, make, told } = await locked({ gitignore: true })
  await make('built')
  await watcher.sync()
  expect(told()).toEqual(['create file built'])
  writeFileSync(join(root, '.gitignore'), 'built')
  await expect.poll(() => watcher.has(join(root, 'built'))).toBe(false)
  expect(told()).toEqual([])
  rmSync(lock)
  await expect.poll(told).toEqual(['create file .gitignore', 'delete file built'])
})

test('the lock of an outer repository counts in an inner one', async () => {
  const { root, lock, make, told } = await locked({ ignore: ['.git'] })
  mkdirSync(join(root, '.git'))
  await make('a')
  expect(told()).toEqual([])
  rmSync(lock)
  await expect.poll(told).toEqual(['create file a'])
})

test.for<[string, (call: Awaited<ReturnType<typeof locked>>) => Promise<void>]>([
  ['sync()', ({ watcher }) => watcher.sync()],
  ['save()', ({ watcher, root }) => watcher.save(join(root, '../saved'))],
  ['setIgnore()', ({ watcher }) => watcher.setIgnore(['b'])],
  ['remove()', ({ watcher, root }) => watcher.remove(root)],
])('%s tells what is held', async ([, call]) => {
  const all = await locked()
  await all.make('a')
  await call(all)
  expect(all.told()).toEqual(['create file a'])
})

test('what is there is told before `ready`', async () => {
  const { root, make } = await locked()
  await make('a')
  const { changes } = await watching(root, { deferGit: true, initial: true })
  expect(changes.map((change) => inWords(change, root))).toEqual(['create file a'])
})

test('nothing is told after close()', async () => {
  const { lock, watcher, make, told } = await locked()
  await make('a')
  await watcher.close()
  rmSync(lock)
  // Longer than a look at the lock is away.
  await setTimeout(50)
  expect(told()).toEqual([])
})

test('a root that is lost and restored meanwhile is told in the order', async () => {
  const { root, lock, make, watcher, told } = await locked()
  await make('a')
  rmSync(root, { recursive: true })
  mkdirSync(root)
  const next = watcher.next({ path: root, type: 'restored' })
  rmSync(lock)
  await next
  const words = told()
  expect([words[0], words.filter((each) => each.endsWith('.'))]).toEqual([
    'create file a',
    ['lost .', 'restored .'],
  ])
})

test('a lock of half a minute ago holds nothing, and one that comes to that age no longer', async () => {
  const { lock, make, told } = await locked()
  const age = (ms: number) => utimesSync(lock, new Date(), new Date(Date.now() - ms))
  age(30_000)
  await make('a')
  await expect.poll(told).toEqual(['create file a'])
  age(29_000)
  await make('b')
  expect(told()).toEqual([])
  await expect.poll(told, { timeout: 10_000 }).toEqual(['create file b'])
})

test('what a git changes that ends right after the first change is told with that change', async () => {
  const { root, lock } = await locked()
  const tell = vi.fn()
  const change = (name: string): Change => ({
    ...{ type: 'modify', path: join(root, name), kind: 'file', mask: 0, source: 'inotify' },
  })
  const rest = async () => hold.take([change('b')])
  // The rest comes behind what was queued while the lock was there.
  const queued = async () => (existsSync(lock) ? rmSync(lock) : rest())
  const hold = new GitHold({ queued, sync: rest, tell })
  hold.take([change('a')])
  rmSync(lock, { force: true })
  await expect.poll(() => tell.mock.calls).toEqual([[[change('a'), change('b')]]])
})

test('locks one after the other hold changes for half a minute, and are waited for together', async () => {
  const { root, lock } = await locked()
  const tell = vi.fn()
  const removeSoon = () => setImmediate(() => rmSync(lock))
  let syncs = 0
  const sync = async () => {
    expect(tell).not.toHaveBeenCalled()
    if (++syncs === 3) return
    writeFileSync(lock, '')
    removeSoon()
  }
  const hold = new GitHold({ queued: async () => {}, sync, tell })
  const change = (name: string): Change => ({
    ...{ type: 'modify', path: join(root, name), kind: 'file', mask: 0, source: 'inotify' },
  })
  hold.take([change('a')])
  removeSoon()
  await expect.poll(() => tell.mock.calls).toEqual([[[change('a')]]])
  expect(syncs).toBe(3)

  const other = new GitHold({ queued: async () => {}, sync, tell })
  writeFileSync(lock, '')
  other.take([change('b')])
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 30_000)
  await expect.poll(() => tell.mock.calls[1]).toEqual([[change('b')]])
  vi.restoreAllMocks()
})

test('all that is told fits', async () => {
  const { root, lock, watcher, make } = await locked({ recursive: true })
  const replay = new Replay()
  watcher.on('changes', (changes) => replay.apply(changes))
  for (const round of [1, 2, 3]) {
    await make(`a${round}`)
    mkdirSync(join(root, `d${round}`))
    await make(`d${round}/x`)
    renameSync(join(root, `d${round}`), join(root, `e${round}`))
    rmSync(join(root, `a${round}`))
    rmSync(lock, { force: true })
    await make(`b${round}`)
    writeFileSync(lock, '')
  }
  await watcher.sync()
  const names = [...replay.names.keys()].filter((path) => !path.endsWith('/x'))
  expect(names.toSorted()).toEqual([...reality(root).keys()].toSorted())
})
