import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Change, watch } from '../../src/index.ts'
import { acting, MARKING, MEMORY, makerOf, mayMark, overflow } from '../support/acting.ts'
import { descriptorsOf } from '../support/descriptors.ts'
import { isRoot, NOBODY } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'
import { isBuilt, WatchingChild } from './child.ts'
import { watching } from './support.ts'

/** Returns the types and names of changes, each with who made it. */
const made = (changes: readonly Change[], at: string) =>
  changes.map((change) => [
    change.type,
    change.path.slice(at.length + 1),
    'by' in change ? change.by : undefined,
  ])

/** Returns a watcher with `by`, and its errors. */
async function watchingBy(paths: string | string[], options = {}) {
  const watched = await watching(paths, { recursive: true, by: true, ...options })
  const errors: Error[] = []
  watched.watcher.on('error', (error) => errors.push(error))
  return { ...watched, errors }
}

describe.skipIf(!mayMark)(`by: who made a change (${MARKING})`, () => {
  test('create, modify, rename, delete and attrib, in directories old and new, by another process and by this one', async () => {
    const at = scratch()
    writeFileSync(join(at, 'old'), '')
    const { told, errors } = await watchingBy(at)
    const { by, does } = await acting(at)
    const scripts = [
      [`fs.appendFileSync('old', 'x'); fs.mkdirSync('d')`, 'modify old', 'create d'],
      [`fs.chmodSync('old', 0o600)`, 'attrib old'],
      [`fs.writeFileSync('d/f', '')`, 'create d/f'],
      [`fs.renameSync('d/f', 'g')`, 'rename g'],
      [`fs.unlinkSync('g')`, 'delete g'],
    ]
    for (const [script = '', ...expected] of scripts) {
      await does(script)
      expect(made(await told(), at), script).toEqual(expected.map((line) => [...line.split(' '), by]))
    }
    writeFileSync(join(at, 'own'), '')
    expect(made(await told(), at)).toEqual([['create', 'own', makerOf(process.pid)]])
    expect(errors).toEqual([])
  })

  test('what is changed within the turn of the call has it; nothing is left when it is closed', async () => {
    const at = scratch()
    const before = descriptorsOf('anon_inode:[fanotify]')
    const watcher = watch(at, { by: true })
    const next = watcher.next()
    writeFileSync(join(at, 'f'), '')
    expect(await next).toMatchObject({ type: 'create', by: { pid: process.pid } })
    await watcher.close()
    expect(descriptorsOf('anon_inode:[fanotify]')).toBe(before)
  })

  test('of two processes that write one file, the last, with settle as well; and none where nobody asks', async () => {
    const at = scratch()
    writeFileSync(join(at, 'f'), '')
    const settled = await watchingBy(at, { settle: 60_000 })
    const unasked = await watching(at)
    const [first, last] = [await acting(at), await acting(at)]
    for (const each of [first, last]) await each.does(`fs.appendFileSync('f', 'x')`)
    expect(made(await settled.told(), at)).toEqual([['modify', 'f', last.by]])
    for (const change of await unasked.told()) expect(change).not.toHaveProperty('by')
  })

  test('what is polled has none, and no error says so', async () => {
    const at = scratch()
    const { told, errors } = await watchingBy(at, { backend: 'poll' })
    await (await acting(at)).does(`fs.writeFileSync('f', '')`)
    expect(made(await told(), at)).toEqual([['create', 'f', undefined]])
    expect(errors).toEqual([])
  })

  test('roots behind a symlink, a followed link to another file system, and a file', async () => {
    const [at, elsewhere] = [scratch(), scratch(MEMORY)]
    mkdirSync(join(at, 'real/d'), { recursive: true })
    writeFileSync(join(at, 'file'), '')
    symlinkSync('real', join(at, 'link'))
    symlinkSync(elsewhere, join(at, 'real/away'))
    const roots = [join(at, 'link'), join(at, 'file')]
    const { told, errors } = await watchingBy(roots, { followSymlinks: true })
    const { by, does } = await acting(at)
    for (const path of ['link/d/f', 'file', 'link/away/f']) {
      await does(`fs.writeFileSync('${path}', 'x')`)
      expect(made(await told(), at)).toEqual([[path === 'file' ? 'modify' : 'create', path, by]])
    }
    expect(errors).toEqual([])
  })

  test('what is lost by an overflow leaves it out, and later changes have it', async () => {
    const [at, elsewhere] = [scratch(MEMORY), scratch(MEMORY)]
    const { told } = await watchingBy(at)
    overflow(elsewhere, `fs.writeFileSync('${at}/f', '')`)
    expect(made(await told(), at)).toEqual([['create', 'f', undefined]])
    const { by, does } = await acting(at)
    await does(`fs.writeFileSync('g', '')`)
    expect(made(await told(), at)).toEqual([['create', 'g', by]])
  })
})

test.skipIf(!isRoot || !isBuilt)(
  'without the rights one error says so, and all else goes on (needs root, to give them up, and dist)',
  async () => {
    const roots = [scratch(), scratch()]
    for (const root of roots) chmodSync(root, 0o777)
    const child = await WatchingChild.start(roots, { by: true, uid: NOBODY })
    writeFileSync(join(roots[1] as string, 'f'), '')
    expect(made(await child.told(), roots[1] as string)).toEqual([['create', 'f', undefined]])
    expect(child.errors).toEqual([
      expect.objectContaining({ code: 'EPERM', hint: expect.stringContaining('CAP_SYS_ADMIN') }),
    ])
  },
)
