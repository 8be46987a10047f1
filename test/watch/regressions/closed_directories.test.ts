// Directories that the watching process may not read, or search, for a while: no change is lost, and no entry
// is told as gone. Root may read all directories, so the process runs as nobody.
import { appendFileSync, chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { WatchOptions } from '../../../src/index.ts'
import { isRoot, NOBODY } from '../../support/others.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt, WatchingChild } from '../child.ts'
import { story } from '../support.ts'
import { overflow } from './losing.ts'

const NEVER = 1_000_000
// With rules, a renamed directory is listed again, with the entries below.
const WITH_RULES = { ignore: ['/nowhere'] }

/** A watcher of a directory that has a/d/f. */
async function watching(options: WatchOptions = {}, before: (root: string) => void = () => {}) {
  const root = scratch()
  const at = (path: string) => join(root, path)
  chmodSync(root, 0o755)
  mkdirSync(at('a/d'), { recursive: true, mode: 0o755 })
  writeFileSync(at('a/d/f'), '')
  before(root)
  const user = isRoot ? { uid: NOBODY } : {}
  const child = await WatchingChild.start(root, { recursive: true, interval: NEVER, ...options, ...user })
  return { at, root, child, told: async () => story(await child.told(), root) }
}

describe.skipIf(!isBuilt)('closed for a while (needs dist)', () => {
  test('a directory in one that could not be searched is listed when that can be', async () => {
    const { at, told } = await watching({}, (root) => chmodSync(join(root, 'a'), 0o444))
    chmodSync(at('a'), 0o755)
    expect(await told()).toContain('create file a/d/f')
  })

  test('as is one that is made in one that is closed', async () => {
    const { at, told } = await watching()
    chmodSync(at('a'), 0)
    mkdirSync(at('a/new'))
    writeFileSync(at('a/new/f'), '')
    expect(await told()).toContain('create directory a/new')
    chmodSync(at('a'), 0o755)
    expect(await told()).toContain('create file a/new/f')
  })

  test('one that is closed keeps its watch when it is listed again', async () => {
    const { at, told } = await watching(WITH_RULES)
    chmodSync(at('a/d'), 0)
    await told()
    renameSync(at('a'), at('b'))
    await told()
    appendFileSync(at('b/d/f'), 'x')
    const first = await told()
    chmodSync(at('b/d'), 0o755)
    expect([...first, ...(await told())]).toContain('modify file b/d/f')
  })

  test('one that cannot be reached is not another: where one above it is renamed', async () => {
    const { at, told } = await watching(WITH_RULES)
    chmodSync(at('a'), 0o444)
    await told()
    renameSync(at('a'), at('b'))
    expect(await told()).toEqual(['rename directory a b'])
  })

  test('nor after an overflow', async () => {
    const { at, root, child, told } = await watching()
    chmodSync(at('a'), 0o444)
    await told()
    await child.stop()
    overflow(root)
    child.goOn()
    const lines = await told()
    expect(lines).toContain('overflow .')
    expect(lines.filter((line) => / a\b/.test(line) && !line.startsWith('attrib'))).toEqual([])
  })
})
