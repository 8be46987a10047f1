// Modifies that `settle` holds back are told before their root is removed or lost, for each kind of root and
// each depth.
import { appendFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { inWords, watching } from '../support.ts'

const SETTLE = 100_000

async function settling(roots: string[], backend: 'inotify' | 'poll') {
  const base = scratch()
  const at = (path: string) => join(base, path)
  for (const each of ['a/deep', 'a-b', 'b']) mkdirSync(at(each), { recursive: true })
  for (const each of ['a/f', 'a/deep/g', 'a-b/f', 'b/f']) writeFileSync(at(each), '')
  const options = { settle: SETTLE, recursive: true, backend, interval: 5 } as const
  const { watcher, changes } = await watching(roots.map(at), options)
  // The events are read, and their changes held back: sync() would tell them.
  const written = async () => {
    for (const each of ['a/f', 'a/deep/g', 'a-b/f', 'b/f']) appendFileSync(at(each), 'x')
    mkdirSync(at('b/mark'))
    mkdirSync(at('b/mark-2'))
    await expect.poll(() => changes.length).toBe(2)
    changes.length = 0
  }
  return { at, watcher, written, told: () => changes.splice(0).map((change) => inWords(change, base)) }
}

test.for([
  { root: 'a', roots: ['a', 'a-b', 'b'], told: ['modify file a/f', 'modify file a/deep/g'] },
  { root: 'a/f', roots: ['a/f', 'a-b', 'b'], told: ['modify file a/f'] },
  { root: 'a/deep', roots: ['a', 'a/deep', 'b'], told: ['modify file a/deep/g'] },
] as const)('$root is removed', async ({ root, roots, told: expected }) => {
  const { at, watcher, written, told } = await settling([...roots], 'inotify')
  await written()
  await watcher.remove(at(root))
  expect(told().toSorted()).toEqual([...expected].toSorted())
  await watcher.sync()
  // The rest was held back, and no change of the root is told twice.
  const rest = told()
  expect(rest).toContain('modify file b/f')
  for (const each of expected) expect(rest).not.toContain(each)
})

test.for(['inotify', 'poll'] as const)('%s: a root is lost, and restored', async (backend) => {
  const { at, watcher, written, told } = await settling(['a', 'b'], backend)
  await written()
  renameSync(at('a'), at('elsewhere'))
  const lines: string[] = []
  await expect.poll(() => lines.push(...told()) && lines.at(-1)).toBe('lost a')
  expect(lines.toSorted()).toEqual(['lost a', 'modify file a/deep/g', 'modify file a/f'])
  renameSync(at('elsewhere'), at('a'))
  await watcher.sync()
  // A root that is back is compared by its times, and may tell a modify too many.
  expect(told()).toEqual(expect.arrayContaining(['restored a', 'modify file b/f']))
})

test('what is ignored from now on is not told any more', async () => {
  const { watcher, written, told, at } = await settling(['a', 'b'], 'inotify')
  await written()
  await watcher.setIgnore((path) => path.startsWith(at('a/deep')))
  await watcher.sync()
  expect(told().toSorted()).toEqual(['delete directory a/deep', 'modify file a/f', 'modify file b/f'])
})

test('nothing is told behind close()', async () => {
  const { watcher, written, told } = await settling(['a', 'b'], 'inotify')
  await written()
  await watcher.close()
  expect(told()).toEqual([])
})
