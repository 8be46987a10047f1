import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadAddon, type NativeWalker } from '../../src/addon.ts'
import { scratch } from '../support/scratch.ts'
import {
  COMPARE,
  GLANCE,
  packRequests,
  pathsOf,
  RECURSIVE,
  readRecords,
  STAT,
  UNCHANGED,
  type WalkRecord,
  walk,
} from './walking.mjs'

const FLAGS = RECURSIVE | STAT | COMPARE

/** A tree with files in it, and a walker that knows it. */
async function known(root = scratch()): Promise<{ walker: NativeWalker; root: string }> {
  const walker = new (loadAddon().Walker)()
  onTestFinished(() => walker.close())
  for (const path of ['a/b/c', 'a/d', 'e/f']) mkdirSync(join(root, path), { recursive: true })
  for (const path of ['top', 'a/1', 'a/b/2', 'a/b/c/3', 'e/f/4']) writeFileSync(join(root, path), 'x')
  expect(await walk(walker, [{ flags: FLAGS, root }])).toHaveLength(7)
  expect(walker.commit()).toBe(0)
  return { walker, root }
}

/** The directories told of, those marked that are as they were. */
async function told({ walker, root }: { walker: NativeWalker; root: string }): Promise<string[]> {
  const records = await walk(walker, [{ flags: FLAGS, root }])
  const paths = pathsOf(records)
  for (const { flags, files, subdirs } of records)
    if (flags & UNCHANGED) expect([files, subdirs]).toEqual([[], []])
  return records.map(({ id, flags }) => `${paths.get(id)}${flags & UNCHANGED ? ' =' : ''}`).sort()
}

test('of a tree in which nothing has changed, nothing is told', async () => {
  const w = await known()
  expect(await told(w)).toEqual([])
  expect(await told(w)).toEqual([])
})

test.each<[string, (at: (path: string) => string) => void, string[]]>([
  ['a file made', (at) => writeFileSync(at('e/f/new'), ''), [' =', 'e', 'e/f']],
  ['a write', (at) => writeFileSync(at('a/b/c/3'), 'yy'), [' =', 'a =', 'a/b =', 'a/b/c']],
  ['a mode', (at) => chmodSync(at('a/b/2'), 0o600), [' =', 'a =', 'a/b']],
  ['a restored mtime', (at) => rewrite(at('a/b/2')), [' =', 'a =', 'a/b']],
  ['a hard link', (at) => linkSync(at('top'), at('e/f/link')), ['', 'e', 'e/f']],
  ['the mode of a directory', (at) => chmodSync(at('a/b'), 0o700), [' =', 'a', 'a/b']],
  ['the mode of the root', (at) => chmodSync(at(''), 0o711), ['']],
  ['a directory gone', (at) => rmdirSync(at('a/d')), ['', 'a']],
  ['a file moved', (at) => renameSync(at('a/b/2'), at('e/2')), ['', 'a', 'a/b', 'e']],
  [
    'a directory moved: it is new where it is, and all in it',
    (at) => renameSync(at('a/b'), at('e/b')),
    ['', 'a', 'e', 'e/b', 'e/b/c'],
  ],
  [
    'a directory replaced by another with the same name: also what has moved on into that',
    (at) => {
      renameSync(at('a/b'), at('old'))
      mkdirSync(at('a/b'))
      renameSync(at('old/c'), at('a/b/c'))
      renameSync(at('old'), at('e/old'))
    },
    ['', 'a', 'a/b', 'a/b/c', 'e', 'e/old'],
  ],
])('%s: told of where it changed, with the directories on the way', async (_, change, expected) => {
  const w = await known()
  change((path) => join(w.root, path))
  expect(await told(w)).toEqual(expected)
})

test('what was not committed is told again, and what was is not', async () => {
  const w = await known()
  writeFileSync(join(w.root, 'a/b/2'), 'yy')
  const expected = [' =', 'a =', 'a/b']
  expect([await told(w), await told(w)]).toEqual([expected, expected])
  expect([w.walker.commit(), await told(w)]).toEqual([0, []])
})

test('what becomes as it was before is told: what is known is what was committed last', async () => {
  const w = await known()
  writeFileSync(join(w.root, 'a/b/2'), 'yy')
  await told(w)
  w.walker.commit()
  unlinkSync(join(w.root, 'a/b/2'))
  await told(w)
  w.walker.commit()
  expect(await told(w)).toEqual([])
})

test('what is forgotten is told', async () => {
  const w = await known()
  expect(w.walker.forget()).toBe(0)
  expect(await told(w)).toEqual(['', 'a', 'a/b', 'a/b/c', 'a/d', 'e', 'e/f'])
})

test('another request is told of, whatever is known of the same directories', async () => {
  const { walker, root } = await known()
  const more = [{ flags: FLAGS, root, rel: 'a' }]
  expect(await walk(walker, more)).toHaveLength(4)
  const other = [{ flags: STAT | COMPARE, root }]
  expect(await walk(walker, other)).toHaveLength(1)
})

test.runIf(process.getuid?.() !== 0)('what may not be read is told once', async () => {
  const w = await known()
  chmodSync(join(w.root, 'a/d'), 0)
  onTestFinished(() => chmodSync(join(w.root, 'a/d'), 0o700))
  expect(await told(w)).toEqual([' =', 'a', 'a/d'])
  w.walker.commit()
  expect(await told(w)).toEqual([])
})

test('a root that is gone is told of each time, as all that is not to be relied on', async () => {
  const w = await known()
  renameSync(w.root, `${w.root}.elsewhere`)
  onTestFinished(() => renameSync(`${w.root}.elsewhere`, w.root))
  for (let i = 0; i < 2; i++) {
    const records = await walk(w.walker, [{ flags: FLAGS, root: w.root }])
    expect(records.map(({ error }) => error)).toEqual([-constants.errno.ENOENT])
    w.walker.commit()
  }
})

test('a tree so deep that no path leads there', async () => {
  const w = await known()
  const depth = 3000
  // Node's own removal recurs.
  onTestFinished(() => void execFileSync('rm', ['-rf', w.root]))
  // Makes the innermost directory first, so that no path is ever long.
  let inner = join(w.root, 'n0')
  mkdirSync(inner)
  for (let i = 1; i <= depth; i++) {
    const outer = join(w.root, `n${i}`)
    mkdirSync(outer)
    renameSync(inner, join(outer, 'd'))
    inner = outer
  }
  const all = await told(w)
  expect(all).toHaveLength(depth + 2)
  w.walker.commit()
  expect(await told(w)).toEqual([])
})

test('during a walk nothing can be committed, nor after close', async () => {
  const { walker, root } = await known()
  const over = new Promise<void>((resolve) => {
    walker.walk(null, 0, packRequests([{ flags: FLAGS, root }]), (_, done) => done && resolve())
  })
  expect([walker.commit(), walker.forget()]).toEqual([-constants.errno.EBUSY, -constants.errno.EBUSY])
  await over
  walker.close()
  expect(walker.commit()).toBe(-constants.errno.EBUSY)
})

/** Writes a file with the same size and times. */
function rewrite(path: string): void {
  const { atime, mtime } = statSync(path)
  writeFileSync(path, 'z')
  utimesSync(path, atime, mtime)
}

test('a walk that is repeated says nothing until there is something to tell', async () => {
  const { walker, root } = await known()
  const requests = packRequests([{ flags: FLAGS, root }])
  const calls: Array<[bytes: number, done: boolean]> = []
  const over = new Promise<void>((resolve) => {
    const onRecords = (records: Buffer, done: boolean) => {
      calls.push([records.length, done])
      if (done) resolve()
    }
    // A pass that takes longer than the last figure ends it all.
    expect(walker.walk(null, 0, requests, onRecords, 1, 200)).toBe(0)
  })
  expect(walker.walk(null, 0, requests, () => {})).toBe(-constants.errno.EBUSY)
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(calls).toEqual([])
  writeFileSync(join(root, 'e/f/4'), 'yy')
  await over
  expect(calls.length).toBeGreaterThan(0)
  expect(calls[0]?.[0]).toBeGreaterThan(0)
  expect(walker.took()).toBeGreaterThan(0)
})

test('a walk that is repeated and glances looks at the directory itself, and at all when that has changed', async () => {
  const { walker, root } = await known()
  const found: WalkRecord[] = []
  const over = new Promise<void>((resolve) => {
    const onRecords = (records: Buffer, done: boolean) => {
      found.push(...readRecords(records))
      if (done) resolve()
    }
    walker.walk(null, 0, packRequests([{ flags: FLAGS | GLANCE, root }]), onRecords, 250, 250)
  })
  await new Promise((resolve) => setTimeout(resolve, 3500))
  writeFileSync(join(root, 'e/f/4'), 'yy')
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(found).toEqual([])
  writeFileSync(join(root, 'new'), '')
  await over
  expect([...pathsOf(found).values()].map(String).sort()).toEqual(['', 'e', 'e/f'])
})

test.each([
  ['cancelled', (walker: NativeWalker) => walker.cancel()],
  ['closed', (walker: NativeWalker) => walker.close()],
])('a walk that is repeated is over when it is %s, however long it rests', async (how, end) => {
  const { walker, root } = await known()
  const over = new Promise<number>((resolve) => {
    const onRecords = (records: Buffer, done: boolean) => done && resolve(records.length)
    walker.walk(null, 0, packRequests([{ flags: FLAGS, root }]), onRecords, 1_000_000, 1_000_000)
  })
  await new Promise((resolve) => setTimeout(resolve, 5))
  end(walker)
  if (how === 'cancelled') expect(await over).toBe(0)
})

test('a walk that is repeated ends when it takes longer than it may', async () => {
  const { walker, root } = await known()
  const deep = Array.from({ length: 3000 }, () => ({ flags: FLAGS, root }))
  await walk(walker, deep)
  walker.commit()
  const over = new Promise<number>((resolve) => {
    const onRecords = (records: Buffer, done: boolean) => done && resolve(records.length)
    walker.walk(null, 0, packRequests(deep), onRecords, 1, 1)
  })
  expect(await over).toBe(0)
  expect(walker.took()).toBeGreaterThan(1)
})
