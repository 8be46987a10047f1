import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { IN_CLOSE_WRITE, IN_MODIFY } from '../../src/index.ts'
import { compile } from '../support/compile.ts'
import { roomy, rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { Writers } from './model/world/writers.ts'
import { inWords, RENAME_EXCHANGE, RENAME_WHITEOUT, renameWith, story, watching } from './support.ts'
import { watchingTree } from './tree.ts'

// inotify's traps of single events and names, one test each, with the promise of each. traps_of_trees.test.ts
// and traps_of_limits.test.ts have the others.

const put = (path: string, content = 'x') => writeFileSync(path, content)

const RENAMES = rounds(process.env.RENAMES, { quick: 300, long: 500 })

describe('traps', () => {
  test('coalescing: nothing that is told depends on how many events the kernel made of it', async () => {
    const outside = scratch()
    const { at, lines, agrees } = await watchingTree((at) => {
      mkdirSync(at('d'))
      for (const name of ['a', 'written']) put(at(`d/${name}`))
    })
    // With a mask of IN_MOVED_FROM alone, the kernel would merge these into one event.
    for (let i = 0; i < 3; i++) {
      renameSync(at('d/a'), join(outside, String(i)))
      if (i < 2) renameSync(join(outside, String(i)), at('d/a'))
    }
    for (let i = 0; i < 1000; i++) appendFileSync(at('d/written'), 'x')
    const told = await lines()
    const created = ['delete file d/a', 'create file d/a']
    expect(told.filter((line) => line.endsWith('a'))).toEqual([...created, ...created, 'delete file d/a'])
    expect(told).toContain('modify file d/written')
    await agrees()
  })

  test('pairing: by cookie, whatever comes in between', async () => {
    const plant = (at: (path: string) => string) => {
      for (const name of ['d', 'e']) mkdirSync(at(name))
      put(at('d/0'))
    }
    const { root, told, agrees } = await watchingTree(plant, {}, {}, roomy)
    await using writers = new Writers(4, root, scratch(roomy))
    const places = ['d', 'e']
    const renames = Array.from({ length: RENAMES }, (_, i) => [
      'rename',
      `${places[i % 2]}/${i}`,
      `${places[(i + 1) % 2]}/${i + 1}`,
    ])
    // The noise is half renames whose other half lies outside the watched tree.
    const noise = (name: string) =>
      Array.from({ length: RENAMES / 2 }, () => [
        ['in', name],
        ['save', `${name}/f`],
        ['out', name],
      ])
    await writers.run([renames, noise('d/n').flat(), noise('e/n').flat(), noise('n').flat()])
    const changes = (await told()).filter(({ type, path }) => type === 'rename' && /\/\d+$/.test(path))
    expect(changes.map((change) => inWords(change, root))).toEqual(
      renames.map(([, from, to]) => `rename file ${from} ${to}`),
    )
    await agrees()
  })

  test('RENAME_EXCHANGE: two renames, and neither side is destroyed', async () => {
    const { at, lines, agrees } = await watchingTree((at) => {
      for (const path of ['d', 'd/sub', 'e']) mkdirSync(at(path))
      put(at('d/sub/in'))
      put(at('e/file'))
    })
    renameWith(RENAME_EXCHANGE, at('d/sub'), at('e/file'))
    expect(await lines()).toEqual(['exchange file d/sub directory e/file'])
    put(at('e/file/in'), 'after')
    put(at('d/sub'), 'after')
    expect(await lines()).toEqual(['modify file e/file/in', 'modify file d/sub'])
    await agrees()
  })

  test('RENAME_WHITEOUT: the device that takes the old name is seen', async (context) => {
    if (process.getuid?.() !== 0) context.skip('a whiteout needs CAP_MKNOD')
    const { at, lines, agrees } = await watchingTree((at) => {
      for (const path of ['d', 'e']) mkdirSync(at(path))
      put(at('d/a'))
    })
    renameWith(RENAME_WHITEOUT, at('d/a'), at('e/b'))
    expect(await lines()).toEqual(['rename file d/a e/b', 'create other d/a'])
    await agrees()
  })

  test('rename over a file: one rename that says so, while the victim is open and has another name', async () => {
    const outside = scratch()
    const { at, lines, agrees } = await watchingTree((at) => {
      for (const path of ['d', 'e']) mkdirSync(at(path))
      for (const path of ['d/a', 'e/b', 'e/c']) put(at(path))
    })
    linkSync(at('e/c'), join(outside, 'link'))
    const open = openSync(at('e/b'), 'r')
    renameSync(at('d/a'), at('e/b'))
    renameSync(at('e/b'), at('e/c'))
    expect(await lines()).toEqual(['rename file d/a e/b replaced', 'rename file e/b e/c replaced'])
    closeSync(open)
    expect(await lines()).toEqual([])
    await agrees()
  })

  test('O_TMPFILE + linkat: no ghost paths', async () => {
    const { root, at, lines, agrees } = await watchingTree((at) => mkdirSync(at('d')))
    await using writers = new Writers(1, root, scratch())
    await writers.run([
      [
        ['unnamed', 'd/a'],
        ['unnamed', 'b'],
      ],
    ])
    expect(await lines()).toEqual(['create file d/a', 'create file b'])
    rmSync(at('b'))
    await agrees()
  })

  test('one inode, two paths: each is told of, and one can be given up', async () => {
    const base = scratch()
    const [real, alias] = [join(base, 'real'), join(base, 'alias')]
    mkdirSync(join(real, 'd'), { recursive: true })
    put(join(real, 'd/one'))
    linkSync(join(real, 'd/one'), join(real, 'two'))
    symlinkSync('real', alias)
    const { watcher, told } = await watching([real, alias], { recursive: true, backend: 'inotify' })
    mkdirSync(join(real, 'd/new'))
    put(join(real, 'd/new/deep'))
    const lines = story(await told(), base)
    for (const root of ['real', 'alias']) {
      expect(lines.filter((line) => line.includes(`${root}/`))).toEqual([
        `create directory ${root}/d/new`,
        `create file ${root}/d/new/deep`,
      ])
    }
    // A hard link in two watched directories: the change has the name that was written.
    appendFileSync(join(real, 'two'), 'more')
    expect(new Set(story(await told(), base))).toEqual(
      new Set(['modify file alias/two', 'modify file real/two']),
    )
    await watcher.remove(real)
    appendFileSync(join(real, 'd/one'), 'more')
    expect(new Set(story(await told(), base))).toEqual(new Set(['modify file alias/d/one']))
  })

  test('hard link elsewhere: a write by it is not seen, as documented', async () => {
    const outside = scratch()
    const { at, lines, agrees } = await watchingTree((at) => put(at('a')))
    linkSync(at('a'), join(outside, 'link'))
    await lines()
    appendFileSync(join(outside, 'link'), 'more')
    expect(await lines()).toEqual([])
    // A write by its own name is told.
    appendFileSync(at('a'), 'more')
    expect(await lines()).toEqual(['modify file a'])
    await agrees()
  })

  test('blind spots: stores to a mapping and flags are not seen, as documented', async () => {
    const { at, lines } = await watchingTree((at) => {
      mkdirSync(at('d'))
      put(at('d/a'), 'before the store')
    })
    const program = compile('traps')
    const storing = spawn(program, ['store', at('d/a')], { stdio: ['pipe', 'pipe', 'inherit'] })
    const said = createInterface(storing.stdout)
    await once(said, 'line')
    storing.stdin.write('\n')
    await once(said, 'line')
    expect(readFileSync(at('d/a'), 'utf8')).toBe('stored the store')
    expect(await lines()).toEqual([])
    // The program had the file open for writing.
    const ended = once(storing, 'exit')
    storing.stdin.end()
    await ended
    expect(await lines()).toEqual(['modify file d/a'])

    execFileSync(program, ['flags', at('d/a')])
    expect(await lines()).toEqual([])
  })

  test('AIO write: told by the end of writing', async () => {
    const { at, told, root } = await watchingTree((at) => {
      mkdirSync(at('d'))
      put(at('d/a'))
    })
    execFileSync(compile('traps'), ['aio', at('d/a')])
    expect(readFileSync(at('d/a'), 'utf8')).toBe('asynchronous')
    const changes = await told()
    expect(story(changes, root)).toEqual(['modify file d/a'])
    const masks = changes.map((change) => ('mask' in change ? change.mask : 0))
    expect(masks.reduce((all, mask) => all | mask) & (IN_CLOSE_WRITE | IN_MODIFY)).toBe(IN_CLOSE_WRITE)
  })

  test('unlinked but open: after the delete nothing comes under the old name', async () => {
    const { at, lines, agrees } = await watchingTree((at) => {
      mkdirSync(at('d'))
      put(at('d/a'))
    })
    const open = openSync(at('d/a'), 'a')
    unlinkSync(at('d/a'))
    expect(await lines()).toEqual(['delete file d/a'])
    for (let i = 0; i < 3; i++) writeSync(open, 'more')
    closeSync(open)
    expect(await lines()).toEqual([])
    await agrees()
  })

  test.each(['closed', 'open'])(
    'rmdir order: a directory that is %s, and another of its name',
    async (state) => {
      const { root, at, lines, agrees } = await watchingTree((at) => {
        mkdirSync(at('d/e/f'), { recursive: true })
        put(at('d/e/f/a'))
      })
      const open = state === 'open' ? openSync(at('d/e'), 'r') : undefined
      rmSync(at('d/e/f/a'))
      for (const path of ['d/e/f', 'd/e']) rmdirSync(at(path))
      mkdirSync(at('d/e'))
      put(at('d/e/b'))
      const told = await lines()
      expect(told.indexOf('delete directory d/e')).toBeGreaterThanOrEqual(0)
      expect(told.slice(told.lastIndexOf('create directory d/e'))).toEqual([
        'create directory d/e',
        'create file d/e/b',
      ])
      if (open !== undefined) closeSync(open)
      expect(await lines()).toEqual([])
      appendFileSync(join(root, 'd/e/b'), 'more')
      expect(await lines()).toEqual(['modify file d/e/b'])
      await agrees()
    },
  )
})
