// Changes in the turn in which a recursive watch() was called, before any other code has run.
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import * as bridge from '../../src/entries/fs.ts'
import { Walker } from '../../src/watch/scan/walker.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'

const END = 'the end'

/**
 * Returns the events of a recursive watcher for changes before its first turn. Entries in new directories are
 * told later.
 */
async function said(root: string, options: object, act: () => void): Promise<string[]> {
  const events: string[] = []
  const over = new Promise<void>((resolve) => {
    const watcher = bridge.watch(root, { ...options, recursive: true }, (type, name) => {
      if (name === END) resolve()
      else events.push(`${type} ${name}`)
    })
    onTestFinished(() => watcher.close())
  })
  act()
  fs.writeFileSync(join(root, END), '')
  await over
  return events
}

function tree(): { root: string; at: (name: string) => string } {
  const root = scratch()
  const at = (name: string) => join(root, name)
  fs.mkdirSync(at('a/b/c'), { recursive: true })
  fs.writeFileSync(at('a/b/c/f'), '')
  fs.writeFileSync(at('a/b/g'), '')
  return { root, at }
}

const ACTS: ReadonlyArray<[what: string, act: (at: (name: string) => string) => void, events: string[]]> = [
  ['a file is made', (at) => fs.writeFileSync(at('a/b/c/new'), ''), ['rename a/b/c/new']],
  [
    'a file is made and written',
    (at) => fs.writeFileSync(at('a/b/c/new'), 'x'),
    ['rename a/b/c/new', 'change a/b/c/new'],
  ],
  ['a file is removed', (at) => fs.rmSync(at('a/b/c/f')), ['rename a/b/c/f']],
  ['a file is written', (at) => fs.appendFileSync(at('a/b/c/f'), 'x'), ['change a/b/c/f']],
  ['a mode', (at) => fs.chmodSync(at('a/b/c/f'), 0o600), ['change a/b/c/f']],
  [
    'a file is renamed from one directory into another',
    (at) => fs.renameSync(at('a/b/c/f'), at('a/h')),
    ['rename a/b/c/f', 'rename a/h'],
  ],
  [
    'directories are made, and a file in them',
    (at) => [fs.mkdirSync(at('a/b/x/y/z'), { recursive: true }), fs.writeFileSync(at('a/b/x/y/z/f'), '')],
    ['rename a/b/x', 'rename a/b/x/y', 'rename a/b/x/y/z', 'rename a/b/x/y/z/f'],
  ],
  [
    'a directory is renamed, and a file in it is written',
    (at) => [fs.renameSync(at('a/b'), at('d')), fs.appendFileSync(at('d/c/f'), 'x')],
    ['rename a/b', 'rename d', 'change d/c/f'],
  ],
  [
    'a directory is removed with all that is in it',
    (at) => fs.rmSync(at('a/b/c'), { recursive: true }),
    ['rename a/b/c/f', 'rename a/b/c'],
  ],
]

test.each(ACTS)('deep in a tree: %s', async (_, act, expected) => {
  const { root, at } = tree()
  const events = await said(root, {}, () => act(at))
  await expect.poll(() => events).toEqual(expected)
})

test.each(ACTS)('where something is ignored: %s', async (_, act, expected) => {
  const { root, at } = tree()
  fs.mkdirSync(at('a/ignored/c'), { recursive: true })
  const events = await said(root, { ignore: '**/ignored' }, () => {
    fs.writeFileSync(at('a/ignored/c/f'), '')
    act(at)
  })
  await expect.poll(() => events).toEqual(expected)
})

test.each([{}, { ignore: /nothing is called so/ }])(
  'in each of 2,000 directories, with %o',
  async (options) => {
    const root = scratch('/dev/shm')
    const names = Array.from({ length: 2000 }, (_, i) => `d${i % 20}/e${i % 200}/f${i}`)
    for (const name of names) fs.mkdirSync(join(root, name), { recursive: true })
    const expected = names.map((name) => `rename ${name}/new`)
    const events = await said(root, options, () => {
      for (const name of names) fs.writeFileSync(join(root, name, 'new'), '')
    })
    expect(events).toEqual(expected)
  },
)

// Directories above the root have no events before its way is watched.
test.each([
  ['it', ''],
  ['the directory that it lies in', '/up'],
])(
  'another takes the place of %s after that was looked at: what differs is told, and then what happens',
  async (_, up) => {
    const root = scratch()
    const [here, other] = [join(root, 'here'), join(root, 'other')]
    const watched = `${here}${up}`
    fs.mkdirSync(join(watched, 'b/c'), { recursive: true })
    fs.writeFileSync(join(watched, 'b/c/f'), '')
    fs.cpSync(here, other, { recursive: true })
    fs.writeFileSync(join(`${other}${up}`, 'b/new'), '')
    const names = new Set<unknown>()
    const watcher = bridge.watch(watched, { recursive: true }, (_, name) => names.add(name))
    onTestFinished(() => watcher.close())
    fs.renameSync(here, join(root, 'away'))
    fs.renameSync(other, here)
    await expect.poll(() => names.has('b/new')).toBe(true)
    names.clear()
    fs.appendFileSync(join(watched, 'b/c/f'), 'x')
    await expect.poll(() => names.has('b/c/f')).toBe(true)
  },
)

test('the directories are walked through once', async () => {
  const { root, at } = tree()
  const walks = vi.spyOn(Walker.prototype, 'walk')
  const ahead = vi.spyOn(Walker.prototype, 'walkAhead')
  onTestFinished(() => {
    walks.mockRestore()
    ahead.mockRestore()
  })
  const events = await said(root, {}, () => fs.writeFileSync(at('a/b/c/new'), ''))
  expect(events).toEqual(['rename a/b/c/new'])
  expect(ahead.mock.results.map(({ value }) => value.length)).toEqual([4])
})

test('closed in the same turn, nothing is told', async () => {
  const { root, at } = tree()
  const events: string[] = []
  const watcher = bridge.watch(root, { recursive: true }, (type) => events.push(type))
  const closed = new Promise<void>((resolve) => void watcher.on('close', resolve))
  fs.writeFileSync(at('a/new'), '')
  watcher.close()
  await closed
  expect(await said(root, {}, () => fs.rmSync(at('a/new')))).toEqual(['rename a/new'])
  expect(events).toEqual([])
})

test.skipIf(process.getuid?.() === 0)(
  'a directory that may not be read is an error of the call (not as root)',
  () => {
    const { at } = tree()
    fs.chmodSync(at('a/b'), 0o100)
    onTestFinished(() => fs.chmodSync(at('a/b'), 0o700))
    expect(() => bridge.watch(at('a/b'), { recursive: true })).toThrow(
      expect.objectContaining({ code: 'EACCES', syscall: 'watch', filename: at('a/b') }),
    )
  },
)

const isBuilt = fs.existsSync(join(import.meta.dirname, '../../dist/fs.js'))
test.skipIf(!mayUnshare || !isBuilt)(
  'a filesystem is mounted over a directory below: that is told, and what happens in it (needs user namespaces and dist)',
  () => {
    const program = [process.execPath, join(import.meta.dirname, 'mounted_over.mjs'), scratch()]
    const said = execFileSync('unshare', ['-rm', ...program], { encoding: 'utf8', timeout: 30_000 })
    expect(JSON.parse(said)).toEqual(expect.arrayContaining(['rename a/b', 'rename a/b/file']))
  },
)

describe.skipIf(!mayUnshare || !isBuilt)(
  'where there are few watches (needs user namespaces and dist)',
  () => {
    const said = (root: string, watches: number) => {
      const program = [process.execPath, join(import.meta.dirname, 'few_watches.mjs'), root, `${watches}`]
      return JSON.parse(execFileSync('unshare', ['-r', ...program], { encoding: 'utf8', timeout: 30_000 }))
    }

    test('and none for the directory itself, that is an error of the call, which says what to do', () => {
      const root = scratch()
      const hint = expect.stringContaining('user.max_inotify_watches is 0')
      expect(said(root, 0)).toEqual({ code: 'ENOSPC', syscall: 'watch', filename: root, hint })
    })

    test('what has none is polled', () => {
      expect(said(scratch(), 2).names).toContain('a/b/file')
    })
  },
)
