// The target of a source beyond the limits shows nothing that the mirror reports as skipped.
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import type { MirrorOptions } from '../../src/mirror/options.ts'
import { begin, directory, fixture, inMemory } from './fixture.ts'

const LIMITS = { limits: { files: 1, bytes: 100 } }

/** Every path beneath the target at which a reader finds something, links followed, and what. */
function reachable(target: string, below = ''): Record<string, string> {
  return Object.fromEntries(
    readdirSync(join(target, below)).flatMap((name): Array<[string, string]> => {
      const path = join(below, name)
      if (name.startsWith('.inotify-bridge-')) return []
      if (lstatSync(join(target, path)).isDirectory()) return Object.entries(reachable(target, path))
      return existsSync(join(target, path)) ? [[path, readlinkSync(join(target, path))]] : []
    }),
  )
}

/** Puts more entries into a directory than are ever looked at. */
function fill(directory: string): void {
  execFileSync('perl', ['-e', 'symlink ".", "z$_" or die for 1..65_540'], { cwd: directory })
}

/** A source in memory, as the target is: some of these tests fill it. */
function mirrorInMemory() {
  const source = join(inMemory(), 'source')
  mkdirSync(source)
  const { target } = fixture()
  const start = (options: MirrorOptions) => begin(source, target, options)
  return { source, target, start }
}

/** A secret outside of the source, and a source beyond the limits with directories in it. */
async function overLimit() {
  const { source, target, start } = mirrorInMemory()
  const secret = join(directory(), 'secret')
  await writeFile(secret, 'secret')
  await mkdir(join(source, 'd/e'), { recursive: true })
  for (const name of ['a', 'd/b', 'd/e/c']) await writeFile(join(source, name), name)
  const links = Object.fromEntries(['a', 'd/b', 'd/e/c'].map((name) => [name, join(source, name)]))
  return { source, target, start, secret, links }
}

test.each(['', 'volume', 'deep/volume'])(
  'the key of a ConfigMap at %j in the source is there as soon as the kubelet has swapped, before the mirror looks',
  async (below) => {
    const { source, target, start } = mirrorInMemory()
    const volume = join(source, below)
    await mkdir(volume, { recursive: true })
    await atomicWrite(volume, { key: 'old', other: 'old' })
    await start({ limits: { files: 1, bytes: 100 } })
    expect(readFileSync(join(target, below, 'key'), 'utf8')).toBe('old')
    await atomicWrite(volume, { key: 'new', other: 'new' })
    for (const name of ['key', 'other', '..data/key'].slice(0, below === '' ? 2 : 3))
      expect(readFileSync(join(target, below, name), 'utf8')).toBe('new')
  },
)

test('a link for each file, and real directories', async () => {
  const { source, target, start, links } = await overLimit()
  await symlink('d/b', join(source, 'relative'))
  const mirror = await start(LIMITS)
  expect([mirror.state, mirror.isHeld]).toEqual(['over-limit', false])
  expect(reachable(target)).toEqual({ ...links, relative: 'd/b' })
  await writeFile(join(source, 'd/new'), '')
  await rm(join(source, 'd/b'))
  await mirror.refresh()
  const { 'd/b': _, ...rest } = links
  expect(reachable(target)).toEqual({ ...rest, 'd/new': join(source, 'd/new') })
})

const SKIPPED = {
  'a link that leads outside': (path: string, secret: string) => symlink(secret, path),
  'a link to a directory outside': (path: string, secret: string) => symlink(join(secret, '..'), path),
  'a FIFO': async (path: string) => void execFileSync('mkfifo', [path]),
}

test.each(Object.entries(SKIPPED))('%s: by default the last version is held', async (_, make) => {
  const { source, target, start, secret } = await overLimit()
  const mirror = await start({ limits: { files: 3, bytes: 100 } })
  await make(join(source, 'd/evil'), secret)
  await writeFile(join(source, 'more'), '')
  await mirror.refresh()
  expect([mirror.state, mirror.isHeld]).toEqual(['over-limit', true])
  expect(mirror.skipped).toMatchObject([{ path: 'd/evil' }])
  expect(readFileSync(join(target, 'd/b'), 'utf8')).toBe('d/b')
  expect(lstatSync(join(target, 'd/b')).isFile()).toBe(true)
  expect(readdirSync(join(target, 'd'))).toEqual(['b', 'e'])
})

test.each(Object.entries(SKIPPED))("%s: by 'link' it is left out", async (_, make) => {
  const { source, target, start, secret, links } = await overLimit()
  await make(join(source, 'd/evil'), secret)
  const mirror = await start({ ...LIMITS, overLimit: 'link' })
  expect(mirror.skipped).toMatchObject([{ path: 'd/evil' }])
  expect(reachable(target)).toEqual(links)
})

test.each(['link', undefined] as const)(
  '%s: a file that was linked and leads outside by now is not',
  async (mode) => {
    const { source, target, start, secret, links } = await overLimit()
    const mirror = await start({ ...LIMITS, ...(mode && { overLimit: mode }) })
    await symlink(secret, join(source, 'new'))
    await rename(join(source, 'new'), join(source, 'd/b'))
    await mirror.refresh()
    const { 'd/b': _, ...rest } = links
    expect(reachable(target)).toEqual(rest)
    expect(mirror.skipped).toMatchObject([{ path: 'd/b' }])
  },
)

test('nor is one of a source that has become too large for links, however deep it is, whatever leads to it', async () => {
  const { source, target, start, secret, links } = await overLimit()
  await symlink('d/b', join(source, 'by'))
  await symlink('d', join(source, 'way'))
  const mirror = await start(LIMITS)
  for (const name of Object.keys(links)) {
    await symlink(secret, join(source, 'new'))
    await rename(join(source, 'new'), join(source, name))
  }
  fill(source)
  await mirror.refresh()
  expect([mirror.state, mirror.isHeld]).toEqual(['over-limit', true])
  // The links go, also of files that the pass has not looked at.
  expect(reachable(target)).toEqual({ way: 'd' })
})

test.each(['a', 'd/b', 'd/e/c'])(
  "nor is %s of what an earlier mirror has linked to, under 'hold'",
  async (name) => {
    const { source, target, start, secret, links } = await overLimit()
    await (await start(LIMITS)).close({ keep: true })
    await symlink(secret, join(source, 'new'))
    await rename(join(source, 'new'), join(source, name))
    const mirror = await start({ ...LIMITS, overLimit: 'hold' })
    expect([mirror.state, mirror.isHeld]).toEqual(['over-limit', true])
    delete links[name]
    expect(reachable(target)).toEqual(links)
  },
)

test('a directory that cannot be walked whole is held, and nothing of it linked', async () => {
  const { source, target, start } = mirrorInMemory()
  await mkdir(join(source, 'd'))
  await writeFile(join(source, 'd/file'), '')
  fill(join(source, 'd'))
  const mirror = await start({ ...LIMITS, overLimit: 'link' })
  expect([mirror.state, mirror.isHeld]).toEqual(['over-limit', true])
  expect(reachable(target)).toEqual({})
})

test('keys of a ConfigMap: what leads outside in its generation is left out', async () => {
  const { source, target, start, secret } = await overLimit()
  await rm(source, { recursive: true })
  await mkdir(source)
  await atomicWrite(source, { a: '1', 'n/b': '2', c: '3' })
  const generation = readlinkSync(join(source, '..data'))
  await symlink(secret, join(source, generation, 'n/evil'))
  const mirror = await start({ ...LIMITS, overLimit: 'link' })
  expect(mirror.skipped).toMatchObject([{ path: '..data/n/evil' }])
  expect(readdirSync(join(target, '..data/n'))).toEqual(['b'])
  expect(readFileSync(join(target, 'n/b'), 'utf8')).toBe('2')
  expect(lstatSync(join(target, '..data/n')).isDirectory()).toBe(true)
})

test('a single file: a link to it, and a file again', async () => {
  const { source, target } = fixture()
  await mkdir(target)
  const [from, to] = [join(source, 'key'), join(target, 'app.yaml')]
  await writeFile(from, 'one')
  const mirrored = await begin(from, to, { limits: { files: 1, bytes: 3 } })
  await writeFile(from, 'more')
  await mirrored.refresh()
  expect([mirrored.state, readlinkSync(to), readFileSync(to, 'utf8')]).toEqual(['over-limit', from, 'more'])
  await writeFile(from, 'two')
  await mirrored.refresh()
  expect([mirrored.state, lstatSync(to).isFile(), readFileSync(to, 'utf8')]).toEqual([
    'mirroring',
    true,
    'two',
  ])
})

test('a link that another user laid into a directory of the target does not make it links', async () => {
  const { source, target, start, secret } = await overLimit()
  // Everybody's, as the copy of it is.
  await chmod(join(source, 'd'), 0o777)
  await (await start({})).close({ keep: true })
  await symlink(join(source, 'a'), join(target, 'd/planted'))
  await symlink(secret, join(source, 'evil'))
  const mirror = await start(LIMITS)
  expect([mirror.state, mirror.isHeld]).toEqual(['over-limit', true])
  expect(lstatSync(join(target, 'a')).isFile()).toBe(true)
})

test.each(['flat', 'ConfigMap'])('%s: what an earlier mirror has shown by links goes on so', async (kind) => {
  const { source, start, secret } = await overLimit()
  await rm(source, { recursive: true })
  await mkdir(source)
  const write = (keys: Record<string, string>) =>
    kind === 'ConfigMap'
      ? atomicWrite(source, keys)
      : Promise.all(Object.entries(keys).map(([key, text]) => writeFile(join(source, key), text)))
  await write({ a: '1', b: '2' })
  await (await start(LIMITS)).close({ keep: true })
  await symlink(secret, join(source, 'evil'))
  const mirror = await start(LIMITS)
  expect([mirror.state, mirror.isHeld]).toEqual(['over-limit', false])
})
