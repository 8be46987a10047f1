// Changes in the turn in which watch() was called, before any other code has run. The simulation plays
// directories in every order. This file tests the real file system, and files.
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Change, Watcher, type WatchOptions, watch } from '../../src/entries/watch.ts'
import { Walker } from '../../src/watch/scan/walker.ts'
import { lookNow } from '../../src/watch/watcher.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'
import { isBuilt } from './child.ts'
import { inWords } from './support.ts'

interface Told {
  watcher: Watcher
  changes: Change[]
  lines: string[]
}

/**
 * Does the same as watch(), with time enough for the first look on a machine that is busy with other tests.
 */
function watchPatiently(paths: string | string[], options: WatchOptions): Watcher {
  const watcher = new Watcher(paths, options)
  lookNow(watcher, paths, 60_000)
  return watcher
}

/** Returns the changes that were told of `act`, which runs before the watcher has had a turn. */
async function told(
  base: string,
  paths: string | string[],
  options: WatchOptions,
  act: () => void,
  open = watchPatiently,
): Promise<Told> {
  const watcher = open(paths, options)
  act()
  onTestFinished(() => watcher.close())
  const changes: Change[] = []
  watcher.on('changes', (batch) => changes.push(...batch))
  await watcher.ready
  await watcher.sync()
  return { watcher, changes, lines: changes.map((change) => inWords(change, base)) }
}

/** Returns the number of watches of this process. */
function watches(): number {
  const infos = fs.readdirSync('/proc/self/fdinfo').map((fd) => {
    try {
      return fs.readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')
    } catch {
      return ''
    }
  })
  return infos.join('').split('inotify wd:').length - 1
}

type At = (name: string) => string

function tree(parent?: string): { root: string; at: At } {
  const root = scratch(parent)
  const at = (name: string) => join(root, name)
  fs.mkdirSync(at('a/b/c'), { recursive: true })
  fs.writeFileSync(at('a/b/c/f'), '')
  fs.writeFileSync(at('a/b/g'), '')
  return { root, at }
}

const ACTS: ReadonlyArray<[what: string, act: (at: At) => void, lines: string[]]> = [
  ['nothing', () => {}, []],
  ['a file is made', (at) => fs.writeFileSync(at('a/b/c/new'), ''), ['create file a/b/c/new']],
  ['a file is removed', (at) => fs.rmSync(at('a/b/c/f')), ['delete file a/b/c/f']],
  ['a file is written', (at) => fs.appendFileSync(at('a/b/c/f'), 'x'), ['modify file a/b/c/f']],
  ['a mode', (at) => fs.chmodSync(at('a/b/c/f'), 0o600), ['attrib file a/b/c/f']],
  ['a file is renamed', (at) => fs.renameSync(at('a/b/c/f'), at('a/h')), ['rename file a/b/c/f a/h']],
  [
    'directories are made, and a file in them',
    (at) => [fs.mkdirSync(at('a/x/y'), { recursive: true }), fs.writeFileSync(at('a/x/y/f'), '')],
    ['create directory a/x', 'create directory a/x/y', 'create file a/x/y/f'],
  ],
  [
    'a directory is renamed, and a file in it is written',
    (at) => [fs.renameSync(at('a/b'), at('d')), fs.appendFileSync(at('d/c/f'), 'x')],
    ['rename directory a/b d', 'modify file d/c/f'],
  ],
  [
    'a directory is removed with all that is in it',
    (at) => fs.rmSync(at('a/b/c'), { recursive: true }),
    ['delete file a/b/c/f', 'delete directory a/b/c'],
  ],
]

describe.each<[WatchOptions]>([
  [{}],
  [{ ignore: [/\/nothing$/] }],
  [{ depth: 9 }],
  [{ followRoots: false }],
  [{ backend: 'inotify' }],
  [{ hash: true }],
])('in a tree: %o', (options) => {
  test.each(ACTS)('%s', async (_, act, expected) => {
    const { root, at } = tree()
    const { lines } = await told(root, root, { recursive: true, ...options }, () => act(at))
    expect(lines).toEqual(expected)
  })
})

// Both have one inotify instance, and the events of before are for the other alone.
describe('while another watcher is open', () => {
  test.each(ACTS)('%s', async (_, act, expected) => {
    const { root, at } = tree()
    await told(root, root, { recursive: true }, () => {})
    const { lines } = await told(root, root, { recursive: true }, () => act(at))
    expect(lines).toEqual(expected)
  })

  test('more than one read of the kernel gives, behind what the other has not read yet', async () => {
    const { root, at } = tree('/dev/shm')
    await told(root, at('a'), {}, () => {})
    for (let i = 0; i < 100; i++) fs.mkdirSync(at(`a/${i}`))
    const { lines } = await told(root, at('a/b'), {}, () => {
      for (let i = 0; i < 5000; i++) fs.mkdirSync(at(`a/b/${i}`))
    })
    expect(lines).toEqual(Array.from({ length: 5000 }, (_, i) => `create directory a/b/${i}`))
  })
})

test.each(ACTS)('of what is there with `initial`, and then: %s', async (_, act, expected) => {
  const { root, at } = tree()
  const { lines } = await told(root, root, { recursive: true, initial: true }, () => act(at))
  const there = ['directory a', 'directory a/b', 'directory a/b/c', 'file a/b/c/f', 'file a/b/g']
  expect(lines.slice(0, 5).toSorted()).toEqual(there.map((each) => `create ${each}`))
  expect(lines.slice(5)).toEqual(expected)
})

test('what is ignored, or too deep, is not told then, either', async () => {
  const { root, at } = tree()
  const options = { recursive: true, depth: 1, ignore: [at('a/g')] }
  const { lines } = await told(root, root, options, () => {
    for (const name of ['a/g', 'a/h', 'a/b/new']) fs.mkdirSync(at(name))
  })
  expect(lines).toEqual(['create directory a/h'])
})

describe('several roots', () => {
  test('directories beside each other, in each other, and twice', async () => {
    const { root, at } = tree()
    fs.mkdirSync(at('z'))
    const paths = ['z', 'a/b/c', 'a', 'a/b', 'z', 'a'].map(at)
    const { lines } = await told(root, paths, { recursive: true }, () => {
      for (const name of ['z/1', 'a/1', 'a/b/1', 'a/b/c/1', 'z/2']) fs.mkdirSync(at(name))
    })
    expect(lines).toEqual(['z/1', 'a/1', 'a/b/1', 'a/b/c/1', 'z/2'].map((name) => `create directory ${name}`))
  })

  test('a hundred, with files among them', async () => {
    const root = scratch()
    const names = Array.from({ length: 100 }, (_, i) => `${i}`)
    for (const name of names)
      if (Number(name) % 3 === 0) fs.writeFileSync(join(root, name), '')
      else fs.mkdirSync(join(root, name))
    const { lines } = await told(
      root,
      names.map((name) => join(root, name)),
      {},
      () => {
        for (const name of names)
          if (Number(name) % 3 === 0) fs.appendFileSync(join(root, name), 'x')
          else fs.mkdirSync(join(root, name, 'new'))
      },
    )
    const expected = names.map((name) =>
      Number(name) % 3 === 0 ? `modify file ${name}` : `create directory ${name}/new`,
    )
    expect(lines.toSorted()).toEqual(expected.toSorted())
  })

  test.each<[WatchOptions]>([[{}], [{ ignore: [/\/nothing$/] }], [{ depth: 9 }]])(
    'one that takes longer than the call may take is watched as a whole: %o',
    async (options) => {
      const { root, at } = tree('/dev/shm')
      const names = Array.from({ length: 4000 }, (_, i) => `big/d${i % 20}/e${i % 200}/f${i}`)
      for (const name of names) fs.mkdirSync(at(name), { recursive: true })
      const watcher = new Watcher([at('a'), at('big'), at('a/b')], { recursive: true, ...options })
      lookNow(watcher, [at('a'), at('big'), at('a/b')], 0.5)
      onTestFinished(() => watcher.close())
      const changes: Change[] = []
      watcher.on('changes', (batch) => changes.push(...batch))
      await watcher.ready
      expect([...watcher.entries()]).toHaveLength(4000 + 200 + 20 + 1 + 5)
      const some = names.filter((_, i) => i % 40 === 0)
      for (const name of some) fs.mkdirSync(at(`${name}/new`))
      await watcher.sync()
      const lines = changes.map((change) => inWords(change, root))
      expect(lines.toSorted()).toEqual(some.map((name) => `create directory ${name}/new`).toSorted())
    },
  )

  test('of one that cannot be watched `ready` says so, as ever', async () => {
    const { root, at } = tree()
    const path = at('n'.repeat(256))
    const watcher = watch([root, path])
    await expect(watcher.ready).rejects.toMatchObject({ code: 'ENAMETOOLONG', path })
  })
})

/** The fates of a root: its state before the call, the operation after the call, and the changes. */
const ROOTS: ReadonlyArray<
  [what: string, prepare: (path: string) => void, act: (path: string) => void, lines: string[]]
> = [
  ['a file that stays', (path) => fs.writeFileSync(path, ''), () => {}, []],
  ['a file that is read', (path) => fs.writeFileSync(path, ''), (path) => fs.readFileSync(path), []],
  [
    'a file that is written',
    (path) => fs.writeFileSync(path, ''),
    (path) => fs.writeFileSync(path, 'x'),
    ['modify file r'],
  ],
  [
    'a mode of a file',
    (path) => fs.writeFileSync(path, ''),
    (path) => fs.chmodSync(path, 0o600),
    ['attrib file r'],
  ],
  [
    'a file that is replaced',
    (path) => fs.writeFileSync(path, ''),
    (path) => [fs.writeFileSync(`${path}.new`, ''), fs.renameSync(`${path}.new`, path)],
    ['modify file r'],
  ],
  ['a file that is removed', (path) => fs.writeFileSync(path, ''), (path) => fs.rmSync(path), ['lost r']],
  [
    'a file that a directory takes the place of',
    (path) => fs.writeFileSync(path, ''),
    (path) => [fs.rmSync(path), fs.mkdirSync(join(path, 'x'), { recursive: true })],
    ['lost r', 'restored r', 'create directory r/x'],
  ],
  ['nothing', () => {}, () => {}, []],
  ['a file that comes', () => {}, (path) => fs.writeFileSync(path, ''), ['restored r', 'create file r']],
  [
    'a directory that comes',
    () => {},
    (path) => fs.mkdirSync(join(path, 'x'), { recursive: true }),
    ['restored r', 'create directory r/x'],
  ],
  ['a directory that is removed', (path) => fs.mkdirSync(path), (path) => fs.rmdirSync(path), ['lost r']],
  [
    'a directory that another takes the place of',
    (path) => [fs.mkdirSync(path), fs.mkdirSync(`${path}.new/x`, { recursive: true })],
    (path) => [fs.renameSync(path, `${path}.old`), fs.renameSync(`${path}.new`, path)],
    ['lost r', 'restored r', 'create directory r/x'],
  ],
  [
    'a symlink that leads to another file',
    (path) => [
      fs.writeFileSync(`${path}.1`, ''),
      fs.writeFileSync(`${path}.2`, ''),
      fs.symlinkSync(`${path}.1`, path),
    ],
    (path) => [fs.symlinkSync(`${path}.2`, `${path}.new`), fs.renameSync(`${path}.new`, path)],
    ['modify file r'],
  ],
]

describe.each<[WatchOptions]>([[{}], [{ recursive: true }], [{ settle: 1 }]])('a root, %o', (options) => {
  test.each(ROOTS)('%s', async (_, prepare, act, expected) => {
    const root = scratch()
    const path = join(root, 'r')
    prepare(path)
    const { watcher, changes } = await told(root, path, options, () => act(path))
    await expect.poll(() => changes.map((change) => inWords(change, root))).toEqual(expected)
    // The root is watched from then on.
    changes.length = 0
    fs.rmSync(path, { recursive: true, force: true })
    fs.writeFileSync(path, 'again')
    await watcher.sync()
    await expect.poll(() => changes.length).toBeGreaterThan(0)
  })

  // Files that follow each other are attached together.
  test.each(ROOTS)('%s, among files', async (_, prepare, act, expected) => {
    const root = scratch()
    const [path, ...others] = ['r', 'f', 'g', 'h'].map((name) => join(root, name)) as [string, ...string[]]
    for (const other of others) fs.writeFileSync(other, '')
    prepare(path)
    const [one, two, three] = others as [string, string, string]
    const { changes } = await told(root, [one, path, two, three], options, () => {
      act(path)
      fs.appendFileSync(two, 'x')
    })
    const ofOthers = ['modify file g']
    await expect
      .poll(() => changes.map((change) => inWords(change, root)).toSorted())
      .toEqual([...expected, ...ofOthers].toSorted())
  })
})

test.each([true, false])('a link that is not followed, and swapped (leads anywhere: %s)', async (leads) => {
  const root = scratch()
  const path = join(root, 'r')
  if (leads) fs.writeFileSync(join(root, 'x'), '')
  fs.symlinkSync('x', path)
  const { lines } = await told(root, path, { followRoots: false }, () => {
    fs.symlinkSync('y', `${path}.new`)
    fs.renameSync(`${path}.new`, path)
  })
  expect(lines).toEqual(['modify symlink r'])
})

test('256 files, all written', async () => {
  const root = scratch()
  const paths = Array.from({ length: 256 }, (_, i) => join(root, `${i}`))
  for (const path of paths) fs.writeFileSync(path, '')
  const { lines } = await told(root, paths, {}, () => {
    for (const path of paths) fs.writeFileSync(path, 'x')
  })
  expect(new Set(lines).size).toBe(256)
  expect(lines).toHaveLength(256)
})

test.each<[WatchOptions]>([[{}], [{ depth: 9 }], [{ ignore: [/\/nothing$/] }]])(
  'where a link is followed: %o',
  async (options) => {
    const { root, at } = tree()
    fs.mkdirSync(at('z/y'), { recursive: true })
    fs.symlinkSync('../z', at('a/link'))
    const { lines } = await told(root, root, { recursive: true, followSymlinks: true, ...options }, () => {
      fs.rmSync(at('a/b/c/f'))
      fs.mkdirSync(at('a/b/c/new'))
    })
    expect(lines).toEqual(['delete file a/b/c/f', 'create directory a/b/c/new'])
  },
)

test('the watches of a tree that has gone are given back', async () => {
  const { root, at } = tree()
  for (let i = 0; i < 100; i++) fs.mkdirSync(at(`a/${i}`))
  const { watcher, lines } = await told(root, at('a'), { recursive: true }, () =>
    fs.renameSync(at('a'), at('z')),
  )
  expect(lines).toEqual(['lost a'])
  // The remaining watches are those of the way to the root.
  await expect.poll(watches).toBeLessThan(10)
  await watcher.close()
})

test('the tree is walked through once', async () => {
  const { root, at } = tree()
  const ahead = vi.spyOn(Walker.prototype, 'walkAhead')
  onTestFinished(() => ahead.mockRestore())
  const { lines } = await told(root, root, { recursive: true }, () => fs.mkdirSync(at('a/new')), watch)
  expect(lines).toEqual(['create directory a/new'])
  expect(ahead.mock.results.map(({ value }) => value.length)).toEqual([4])
})

test('closed or aborted in the same turn, nothing is told', async () => {
  const { root, at } = tree()
  const told: unknown[] = []
  const closed = watch(root, { recursive: true }).on('changes', (changes) => told.push(...changes))
  const ending = new AbortController()
  const aborted = watch(root, { recursive: true, signal: ending.signal }).on('changes', (changes) =>
    told.push(...changes),
  )
  fs.mkdirSync(at('new'))
  ending.abort(new Error('enough'))
  await closed.close()
  await expect(closed.ready).rejects.toMatchObject({ code: 'EBADF' })
  await expect(aborted.ready).rejects.toThrow('enough')
  const watcher = watch(root, { signal: ending.signal })
  await expect(watcher.ready).rejects.toThrow('enough')
  expect(told).toEqual([])
})

/** Runs a program in a process of its own, and returns its output. */
function say(program: string, ...flags: string[]): unknown {
  const script = `
    const fs = await import('node:fs')
    const root = ${JSON.stringify(scratch())}
    fs.mkdirSync(root + '/a/b', { recursive: true })
    const told = async (watcher) => {
      const lines = []
      watcher.on('changes', (changes) => lines.push(...changes.map(({ type, path }) => type + ' ' + path.slice(root.length))))
      await watcher.ready
      await watcher.sync()
      await watcher.close()
      console.log(JSON.stringify(lines))
    }
    ${program}`
  const node = [...flags, '--input-type=module', '-e', script]
  return JSON.parse(execFileSync(process.execPath, node, { encoding: 'utf8', timeout: 60_000 }))
}

const INDEX = JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))
const ACT = `fs.mkdirSync(root + '/a/b/new'); await told(watcher)`

describe.skipIf(!isBuilt)('the first call of a process (needs dist)', () => {
  test.each([
    ['import', `const { watch } = await import(${INDEX})`],
    ['require()', `const { watch } = (await import('node:module')).createRequire(${INDEX})(${INDEX})`],
  ])('by %s', (_, load) => {
    expect(say(`${load}; const watcher = watch(root, { recursive: true }); ${ACT}`)).toEqual([
      'create /a/b/new',
    ])
  })

  test('where modules cannot be required, the engine is loaded behind the call, and only the next call looks at once', () => {
    const program = `
      const { watch } = await import(${INDEX})
      const first = watch(root, { recursive: true })
      await first.ready
      await first.close()
      const watcher = watch(root, { recursive: true }); ${ACT}`
    expect(say(program, '--no-experimental-require-module')).toEqual(['create /a/b/new'])
  })
})

describe.skipIf(!mayUnshare || !isBuilt)(
  'a mount below that does not answer (needs user namespaces and dist)',
  () => {
    test('does not hold up the call', () => {
      const program = [process.execPath, join(import.meta.dirname, 'unanswered.mjs'), scratch()]
      const said = execFileSync('unshare', ['-rm', ...program], { encoding: 'utf8', timeout: 60_000 })
      const { took, told } = JSON.parse(said)
      // The first look waits for half a second, and a busy machine adds to that. Without the limit, the look
      // would wait for as long as the server is stopped.
      expect(took).toBeLessThan(5000)
      expect(told).toEqual(['create /root/b/new'])
    })
  },
)
