// `ignore` is about the path from a root on: of the nearest, where one lies in another; and says so where it leaves nothing to be told.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Watcher, type WatchOptions, watch } from '../../src/index.ts'
import { scratch } from '../support/scratch.ts'
import { inWords } from './support.ts'

function plant(): { root: string; at: (name: string) => string } {
  // A project may lie below a directory of such a name.
  const root = join(scratch(), 'build/node_modules/[x]')
  const at = (name: string) => join(root, name)
  for (const name of ['node_modules', 'sub/node_modules', 'sub/build'])
    fs.mkdirSync(at(name), { recursive: true })
  return { root, at }
}

const FILES = ['f', 'node_modules/f', 'sub/f', 'sub/node_modules/f', 'sub/build/f']

async function observed(roots: string[], base: string, options: WatchOptions) {
  const watcher = watch(roots, { recursive: true, interval: 1_000_000, ...options })
  onTestFinished(() => watcher.close())
  await watcher.ready
  const lines: string[] = []
  watcher.on('changes', (changes) => void lines.push(...changes.map((each) => inWords(each, base))))
  /** The files of which it tells that they are written. */
  const toldOf = async (watcher: Watcher) => {
    for (const name of FILES) fs.writeFileSync(join(base, name), 'x')
    await watcher.sync()
    const told = lines.splice(0).filter((line) => / file /.test(line))
    for (const name of FILES) fs.rmSync(join(base, name))
    await watcher.sync()
    lines.length = 0
    return [...new Set(told.map((line) => line.replace(/.* file /, '')))].toSorted()
  }
  return { watcher, told: () => toldOf(watcher) }
}

describe.each(['inotify', 'poll'] as const)('%s', (backend) => {
  test.each<[NonNullable<WatchOptions['ignore']>, string[]]>([
    [[/build/], ['f', 'node_modules/f', 'sub/f', 'sub/node_modules/f']],
    [['node_modules'], ['f', 'sub/build/f', 'sub/f', 'sub/node_modules/f']],
    [
      ['**/node_modules/**', './sub/build/'],
      ['f', 'sub/f'],
    ],
    [
      ['**/node_modules', 'build'],
      ['f', 'sub/build/f', 'sub/f'],
    ],
    [['sub/*/f'], ['f', 'node_modules/f', 'sub/f']],
  ])('in a project below directories of these names: %j', async (ignore, expected) => {
    const { root } = plant()
    const { told } = await observed([root], root, { backend, ignore })
    expect(await told()).toEqual(expected)
  })

  test('of roots within roots it is about the nearest, also where one is added, removed, or the rule replaced', async () => {
    const { root, at } = plant()
    const { watcher, told } = await observed([root], root, { backend, ignore: ['node_modules', 'sub/build'] })
    expect(await told()).toEqual(['f', 'sub/f', 'sub/node_modules/f'])
    await watcher.add(at('sub'))
    expect(await told()).toEqual(['f', 'sub/build/f', 'sub/f'])
    await watcher.add(at('node_modules'))
    expect(await told()).toEqual(['f', 'node_modules/f', 'sub/build/f', 'sub/f'])
    await watcher.remove(at('sub'))
    expect(await told()).toEqual(['f', 'node_modules/f', 'sub/f', 'sub/node_modules/f'])
    await watcher.setIgnore(['f'])
    expect(await told()).toEqual(['sub/build/f', 'sub/f', 'sub/node_modules/f'])
    await watcher.setIgnore(undefined)
    expect(await told()).toEqual(FILES.toSorted())
  })
})

describe('a mistake that leaves nothing to be told is a warning that names it', () => {
  async function warnings(act: () => Watcher, then = async (_: Watcher) => {}): Promise<string[]> {
    const said: string[] = []
    const emit = vi
      .spyOn(process, 'emitWarning')
      .mockImplementation((message) => void said.push(String(message)))
    onTestFinished(() => emit.mockRestore())
    const watcher = act()
    onTestFinished(() => watcher.close())
    await watcher.ready
    await then(watcher)
    return said
  }

  test.each<[string, (root: string) => NonNullable<WatchOptions['ignore']>]>([
    ['an absolute path', (root) => [root]],
    ['one above', () => ['/']],
    ['a glob', () => ['**']],
    ['a pattern', () => ['nothing', /^/]],
    ['a function', () => (path) => path.includes('build')],
  ])('`ignore` that hides a root: %s', async (_, ignore) => {
    const { root } = plant()
    const hides = [expect.stringContaining(`'${root}'`)]
    expect(await warnings(() => watch(root, { ignore: ignore(root) }))).toEqual(hides)
    expect(
      await warnings(
        () => watch([], { ignore: ignore(root) }),
        (watcher) => watcher.add(root),
      ),
    ).toEqual(hides)
    expect(
      await warnings(
        () => watch([root, scratch()], { recursive: true }),
        (watcher) => watcher.setIgnore(ignore(root)),
      ),
    ).toContainEqual(hides[0])
  })

  test.each(['**/*.js', 'src/*.{js,ts}', 'src/{a,b}', 'a?c'])('a glob as a path: %s', async (glob) => {
    const { at } = plant()
    const names = [expect.stringMatching(/is watched as a name: no glob/)]
    const said = await warnings(() => watch([at('sub'), at(glob)]))
    expect(said).toEqual(names)
    expect(said[0]).toContain(at(glob))
    expect(
      await warnings(
        () => watch(at('sub')),
        (watcher) => watcher.add(at(glob)),
      ),
    ).toEqual(names)
    // A path may have this name.
    fs.mkdirSync(at(glob), { recursive: true })
    expect(await warnings(() => watch(at(glob)))).toEqual([])
  })

  test.each<[string, WatchOptions]>([
    ['nothing ignored', {}],
    ['what matches is in the root', { ignore: ['node_modules', /sub/, '/elsewhere'] }],
    ['a function of names', { ignore: (path) => path.endsWith('x]') }],
  ])('and else there is none: %s', async (_, options) => {
    const { root, at } = plant()
    expect(await warnings(() => watch([root, at('none')], options))).toEqual([])
  })
})
