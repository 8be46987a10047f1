// A mirror knows what the last run has made, however that run ended: nothing stays behind, whatever is mirrored next.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { mirror } from '../../src/mirror/mirror.ts'
import type { MirrorOptions } from '../../src/mirror/options.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { isLong } from '../support/long.ts'
import { AS_NOBODY, isRoot } from '../support/others.ts'
import { begin, directory, fixture, inMemory, QUICK } from './fixture.ts'
import { isBuilt, mirroring } from './mirroring.ts'
import { shownIn, stagingIn } from './names.ts'
import { said } from './said.ts'

/** All that a reader finds below a directory: by path what is in a file, links followed; the mirror's own and the layout's names left out. */
async function contentOf(path: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const visit = async (below: string) => {
    for (const entry of await readdir(join(path, below), { withFileTypes: true })) {
      if (entry.name.startsWith('.')) continue
      const at = join(below, entry.name)
      if (entry.isDirectory()) await visit(at)
      else found[at] = await readFile(join(path, at), 'utf8').catch(({ code }) => code)
    }
  }
  await visit('')
  return found
}

const SOURCES: Record<string, (path: string) => Promise<unknown>> = {
  'a ConfigMap': (path) => atomicWrite(path, { a: 'A', b: 'B', 'nested/c': 'C' }),
  'a ConfigMap with files beside it': async (path) => {
    await atomicWrite(path, { a: 'A', b: 'B' })
    await writeFile(join(path, 'beside'), 'X')
  },
  'flat files': async (path) => {
    await mkdir(join(path, 'd'))
    for (const name of ['a', 'b', 'd/c']) await writeFile(join(path, name), name)
    await symlink('d/c', join(path, 'link'))
  },
  'too much, as links': async (path) => {
    for (const name of ['a', 'b', 'c']) await writeFile(join(path, name), 'x'.repeat(100))
  },
}

const ENDS = ['close({ keep })', 'kill -9'] as const

describe('three runs over one target', () => {
  const kinds = Object.keys(SOURCES)
  for (const [n, first] of kinds.entries()) {
    for (const second of kinds) {
      for (const end of ENDS) {
        // Each of these starts two processes: those who wait have one of each kind behind one of another.
        if (!isLong && end === 'kill -9' && second !== kinds[(n + 1) % kinds.length]) continue
        test(`${first}, then ${second}, each ended by ${end}, then one file`, async ({ skip }) => {
          if (!isBuilt) skip('needs dist')
          const { target } = fixture()
          await mkdir(target)
          await writeFile(join(target, 'theirs'), 'theirs')
          for (const kind of [first, second]) {
            const source = directory()
            await SOURCES[kind]?.(source)
            const isLinked = kind === 'too much, as links'
            const options: MirrorOptions = {
              ...QUICK,
              ...(isLinked && { limits: { files: 2, bytes: 1e6 }, overLimit: 'link' }),
            }
            await run(source, target, options, end)
            expect(await contentOf(target), kind).toEqual({ ...(await contentOf(source)), theirs: 'theirs' })
          }
          const last = directory()
          await writeFile(join(last, 'only'), '1')
          await run(last, target, QUICK, 'close({ keep })')
          expect(await shownIn(target)).toEqual(['only', 'theirs'])
          const final = await mirror(last, target, QUICK)
          await final.close()
          expect(await readdir(target)).toEqual(['theirs'])
        })
      }
    }
  }
})

async function run(source: string, target: string, options: MirrorOptions, end: (typeof ENDS)[number]) {
  if (end === 'close({ keep })') return await (await mirror(source, target, options)).close({ keep: true })
  const child = mirroring(source, target, options)
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
}

describe('of several sources one of which is held from the start', () => {
  const write = async (path: string, files: Record<string, string>) => {
    await rm(path, { recursive: true, force: true })
    await mkdir(path)
    for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content)
  }
  test.each([
    ['ConfigMaps', atomicWrite],
    ['flat directories', write],
  ])('%s: what another has, changes and removes is not kept for it', async (_, put) => {
    const { target } = fixture()
    const [held, other] = [directory(), directory()]
    const options = {
      interval: 60_000,
      quiet: 5,
      limits: { files: 2, bytes: 1e6 },
      overLimit: 'hold',
    } as const
    await put(held, { a1: '1', a2: '1' })
    await put(other, { b1: '1', b2: '1' })
    await (await mirror([held, other], target, options)).close({ keep: true })
    await put(held, { a1: '2', a2: '2', a3: '2' })
    const next = await mirror([held, other], target, options)
    onTestFinished(() => next.close())
    const { errors } = said(next)
    for (const [files, expected] of [
      [{ b1: '2' }, { b1: '2' }],
      [{ b3: '3' }, { b3: '3' }],
    ] as const) {
      await put(other, files)
      await next.refresh()
      expect(await contentOf(target)).toEqual({ a1: '1', a2: '1', ...expected })
    }
    await put(held, { a1: '3' })
    await next.refresh()
    expect(await contentOf(target)).toEqual({ a1: '3', b3: '3' })
    expect(errors).toEqual([])
  })
})

test.each([['ledger'], ['ledger', 'lock']])(
  'killed while it removed what an earlier one had noted down, %s: the next one goes on with it',
  async (...removed) => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'a'), '1')
    await (await start()).close({ keep: true })
    const staging = await stagingIn(target)
    for (const name of removed) await unlink(join(staging, name))
    const second = await start()
    expect(existsSync(staging)).toBe(false)
    await second.close()
  },
)

test('a directory of the source that is only called much like one of which a start came to nothing stays', async () => {
  const { source, target, start } = fixture()
  const name = '.inotify-bridge-new-releases'
  await mkdir(join(source, name))
  await (await start()).close({ keep: true })
  await utimes(join(target, name), 1, 1)
  const { ino } = statSync(join(target, name))
  await start()
  expect(statSync(join(target, name)).ino).toBe(ino)
})

test('one that is removed while it is looked at is no reason not to start', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  await (await start()).close({ keep: true })
  const staging = await stagingIn(target)
  for (const name of readdirSync(staging)) await unlink(join(staging, name))
  const { ino } = statSync(staging, { bigint: true })
  const { names } = DirectoryHandle.prototype
  const spy = vi.spyOn(DirectoryHandle.prototype, 'names')
  onTestFinished(() => spy.mockRestore())
  // As its own mirror does, which is about to end.
  spy.mockImplementation(async function (this: DirectoryHandle, most) {
    if (this.opened.ino === ino) await rm(staging, { recursive: true, force: true })
    return await names.call(this, most)
  })
  await start()
  expect(existsSync(staging)).toBe(false)
})

test("a flat source's ..data_tmp stays for one that is held, and goes with one that has it no longer", async () => {
  const { target } = fixture()
  const [map, flat] = [directory(), directory()]
  const options: MirrorOptions = { ...QUICK, limits: { files: 2, bytes: 1e6 }, overLimit: 'hold' }
  await atomicWrite(map, { key: '1' })
  await writeFile(join(flat, '..data_tmp'), 'content')
  await (await mirror([map, flat], target, options)).close({ keep: true })
  for (const name of ['a', 'b']) await writeFile(join(flat, name), '1')
  await atomicWrite(map, { key: '2' })
  await (await mirror([map, flat], target, options)).close({ keep: true })
  expect(await contentOf(target)).toEqual({ key: '2' })
  expect(await readFile(join(target, '..data_tmp'), 'utf8')).toBe('content')
  await unlink(join(flat, '..data_tmp'))
  await begin([map, flat], target, options)
  expect(await contentOf(target)).toEqual({ a: '1', b: '1', key: '2' })
  expect(await shownIn(target)).not.toContain('..data_tmp')
})

test("a directory of somebody's that is called as a mirror's own stays with what is in it", async () => {
  const { source, target, start } = fixture()
  const theirs = join(target, '.inotify-bridge-0123456789ab')
  await mkdir(theirs, { recursive: true })
  await writeFile(join(theirs, 'lock'), 'theirs')
  await writeFile(join(source, 'a'), '1')
  await (await start()).close()
  expect(await readdir(theirs)).toEqual(['lock'])
})

test('several sources that are together more than one may be are not copied anew', async () => {
  const { target } = fixture()
  const sources = [directory(), directory()]
  const options = { interval: 60_000, quiet: 5, limits: { files: 2, bytes: 1000 } }
  for (const [index, path] of sources.entries())
    await atomicWrite(path, { [`key${index}`]: String(index).repeat(800) })
  await (await mirror(sources, target, options)).close({ keep: true })
  const inodes = () => readdirSync(target).map((name) => [name, statSync(join(target, name)).ino])
  const kept = inodes().filter(([name]) => !String(name).startsWith('.inotify-bridge-'))
  const next = await mirror(sources, target, options)
  onTestFinished(() => next.close())
  expect(inodes()).toEqual(expect.arrayContaining(kept))
})

test('a ..data that somebody has had lead elsewhere is no entry of a source that is held', async () => {
  const { target } = fixture()
  const [whole, held] = [directory(), directory()]
  const options = { interval: 60_000, quiet: 5, limits: { files: 1, bytes: 1e6 }, overLimit: 'hold' } as const
  await atomicWrite(whole, { a: '1' })
  await atomicWrite(held, { b: '1' })
  await (await mirror([whole, held], target, options)).close({ keep: true })
  await unlink(join(target, '..data'))
  await symlink('elsewhere', join(target, '..data'))
  await atomicWrite(held, { b: '2', c: '2' })
  const next = await mirror([whole, held], target, options)
  onTestFinished(() => next.close())
  expect(next.errors).toEqual([])
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
})

test('a file that somebody has put at the name of a kept one stays', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  await writeFile(join(source, 'b'), '1')
  await (await start()).close({ keep: true })
  await writeFile(join(target, 'new'), 'theirs')
  await rename(join(target, 'new'), join(target, 'b'))
  await unlink(join(source, 'b'))
  const again = await start()
  expect(await contentOf(target)).toEqual({ a: '1', b: 'theirs' })
  await again.close()
  expect(await contentOf(target)).toEqual({ b: 'theirs' })
})

test('a single file, its neighbours, and the whole directory after it', async () => {
  const { source, target } = fixture()
  await mkdir(target)
  for (const name of ['a', 'b']) await writeFile(join(source, name), name)
  for (const name of ['a', 'b']) {
    const one = await mirror(join(source, name), join(target, `${name}.copy`), QUICK)
    await one.close({ keep: true })
  }
  expect(await contentOf(target)).toEqual({ 'a.copy': 'a', 'b.copy': 'b' })
  const started = await begin(source, target)
  expect(await contentOf(target)).toEqual({ a: 'a', b: 'b' })
  await rm(join(source, 'a'))
  await started.refresh()
  await started.close({ keep: true })
  expect(await contentOf(target)).toEqual({ b: 'b' })
})

test('another user takes the place of a mirror of root, as a sidecar does that of an init container (needs root and dist)', async ({
  skip,
}) => {
  const main = join(import.meta.dirname, '../../dist/cli.js')
  if (!isRoot) skip('needs root')
  if (spawnSync('setpriv', [...AS_NOBODY, 'test', '-r', main]).status !== 0)
    skip('needs dist, and a checkout that every user can read')
  for (const kind of ['a ConfigMap', 'flat files']) {
    const volume = inMemory()
    // As an emptyDir is.
    await chmod(volume, 0o777)
    const source = join(volume, 'source')
    const target = join(volume, 'target')
    await mkdir(source)
    await SOURCES[kind]?.(source)
    await mkdir(target)
    await chmod(target, 0o777)
    const mirrorOnce = async (...as: string[]) => {
      const [program = '', ...args] = [...as, process.execPath, main, 'mirror', '--once', source, target]
      const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
      expect([status, stderr], kind).toEqual([0, ''])
      expect(await contentOf(target)).toEqual(await contentOf(source))
    }
    await mirrorOnce()
    await mirrorOnce('setpriv', ...AS_NOBODY)
    await mirrorOnce('setpriv', ...AS_NOBODY)
    if (kind === 'a ConfigMap') await atomicWrite(source, { a: '2' })
    else await writeFile(join(source, 'd/c'), '2')
    await mirrorOnce('setpriv', ...AS_NOBODY)
  }
})

test('a start that fails leaves in place of what it has replaced the new version', async () => {
  const { source, target } = fixture()
  const other = directory()
  await mkdir(target)
  await writeFile(join(target, 'a'), 'old')
  await writeFile(join(source, 'a'), 'new')
  await writeFile(join(other, 'a'), 'of another')
  await expect(mirror([source, other], target, QUICK)).rejects.toMatchObject({
    code: 'EEXIST',
  })
  expect(await readFile(join(target, 'a'), 'utf8')).toMatch(/old|new/)
})
