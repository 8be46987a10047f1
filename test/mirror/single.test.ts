// A single file mirrored to a single file.
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { IN_ALL_EVENTS, IN_CREATE, IN_MOVED_TO } from '../../src/inotify/constants.ts'
import { Inotify } from '../../src/inotify/inotify.ts'
import { mirror } from '../../src/mirror/mirror.ts'
import { eventsSoFar } from '../support/events.ts'
import { fixture } from './fixture.ts'
import { isBuilt, mirroring } from './mirroring.ts'
import { said } from './said.ts'

const QUICK = { interval: 60_000, quiet: 5 }
const READING = 0x31

function singleFile() {
  const { source, target } = fixture()
  const [from, to] = [join(source, 'key'), join(target, 'app.yaml')]
  const start = async (path = from, file = to) => {
    const started = await mirror(path, file, QUICK)
    onTestFinished(() => started.close())
    return started
  }
  const names = () => readdirSync(target).filter((name) => !/^(\.inotify-bridge|mark)-/.test(name))
  return { source, target, from, to, start, names, read: () => readFile(to, 'utf8') }
}

test('a regular file: content, mode, replacement and nothing else of its directory', async () => {
  const { source, target, from, to, start, names, read } = singleFile()
  await writeFile(from, 'one', { mode: 0o640 })
  await writeFile(join(source, 'beside'), '')
  const mirror = await start()
  expect(names()).toEqual(['app.yaml'])
  expect([await read(), (await stat(to)).mode]).toEqual(['one', 0o100640])
  using inotify = new Inotify()
  inotify.add(target, IN_ALL_EVENTS & ~READING)
  const { updates } = said(mirror)
  await writeFile(join(source, 'staged'), 'two')
  await rename(join(source, 'staged'), from)
  await mirror.refresh()
  expect(await read()).toBe('two')
  const events = await eventsSoFar(inotify, target)
  expect(events).toMatchObject([{ mask: IN_MOVED_TO, name: 'app.yaml' }])
  await chmod(from, 0o600)
  await mirror.refresh()
  expect((await stat(to)).mode).toBe(0o100600)
  expect(updates).toEqual([['app.yaml'], ['app.yaml']])
})

test('a key that is a link to ..data/key follows the swaps', async () => {
  const { source, target, from, to, start, read } = singleFile()
  await atomicWrite(source, { key: 'one' })
  const mirror = await start()
  using inotify = new Inotify()
  inotify.add(target, IN_MOVED_TO | IN_CREATE)
  for (const content of ['two', 'three', 'four']) {
    await atomicWrite(source, { key: content })
    await mirror.refresh()
    expect(await read()).toBe(content)
    expect(await eventsSoFar(inotify, target)).toMatchObject([{ mask: IN_MOVED_TO, name: 'app.yaml' }])
  }
  expect((await stat(to)).isFile()).toBe(true)
  await atomicWrite(source, { other: '' })
  await mirror.refresh()
  expect([mirror.state, await read()]).toEqual(['source-lost', 'four'])
  await atomicWrite(source, { key: 'back' })
  await mirror.refresh()
  expect([mirror.state, await read()]).toEqual(['mirroring', 'back'])
  expect(basename(from)).toBe('key')
})

test('a link that comes to lead to another file, and one that leads in a circle', async () => {
  const { source, from, start, read } = singleFile()
  for (const name of ['one', 'two']) await writeFile(join(source, name), name)
  await symlink('one', from)
  const mirror = await start()
  const point = async (to: string) => {
    await symlink(to, join(source, 'next'))
    await rename(join(source, 'next'), from)
    await mirror.refresh()
  }
  await point('two')
  expect(await read()).toBe('two')
  await point('key')
  expect([mirror.state, await read()]).toEqual(['source-lost', 'two'])
  await point(join(source, 'one'))
  expect([mirror.state, await read()]).toEqual(['mirroring', 'one'])
})

test('one that is not there, and targets that cannot be', async () => {
  const { target, from, to, start } = singleFile()
  await expect(start()).rejects.toMatchObject({ code: 'ENOENT', path: from })
  expect(existsSync(target)).toBe(false)
  await writeFile(from, 'one')
  await mkdir(to, { recursive: true })
  await expect(start()).rejects.toMatchObject({ code: 'EISDIR', path: to })
  await expect(start(from, from)).rejects.toMatchObject({ code: 'EINVAL', path: from })
  await symlink(dirname(from), join(target, 'alias'))
  await expect(start(from, join(target, 'alias/key'))).rejects.toMatchObject({ code: 'EINVAL' })
  expect(await readFile(from, 'utf8')).toBe('one')
})

test('two into one directory at the same time; two to one file are one too many', async () => {
  const { source, target, from, to, start, names } = singleFile()
  for (const name of ['key', 'second']) await writeFile(join(source, name), name)
  const [first, second] = [await start(), await start(join(source, 'second'), join(target, 'second'))]
  await expect(start(join(source, 'second'))).rejects.toMatchObject({ code: 'EBUSY' })
  await expect(start(source, target)).rejects.toMatchObject({ code: 'EBUSY' })
  await writeFile(from, 'changed')
  await writeFile(join(source, 'second'), 'changed')
  await Promise.all([first.refresh(), second.refresh()])
  for (const file of [to, join(target, 'second')]) expect(await readFile(file, 'utf8')).toBe('changed')
  await first.close()
  expect(existsSync(to)).toBe(false)
  expect(await readFile(join(target, 'second'), 'utf8')).toBe('changed')
  await second.close()
  expect(names()).toEqual([])
})

test('close() removes its file and nothing beside it', async () => {
  const { target, from, start } = singleFile()
  await writeFile(from, 'one')
  await mkdir(target)
  await writeFile(join(target, 'theirs'), '')
  await (await start()).close()
  expect(readdirSync(target)).toEqual(['theirs'])
})

test.skipIf(!isBuilt)(
  'one that was killed is taken over, and its neighbour is not (needs dist)',
  async () => {
    const { source, target, from, to, start, read } = singleFile()
    await writeFile(from, 'one')
    await writeFile(join(source, 'second'), 'one')
    const neighbour = await start(join(source, 'second'), join(target, 'second'))
    const child = mirroring(from, to, QUICK)
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const { ino } = await stat(to)
    const again = await start()
    expect((await stat(to)).ino, 'what is still right').toBe(ino)
    await writeFile(from, 'two')
    await again.refresh()
    expect(await read()).toBe('two')
    await again.close()
    expect(readdirSync(target).filter((name) => !name.startsWith('.'))).toEqual(['second'])
    await neighbour.close()
    expect(existsSync(target)).toBe(false)
  },
)

test('a file that is a directory now keeps the last version, and that is said', async () => {
  const { from, start, read } = singleFile()
  await writeFile(from, 'one')
  const mirror = await start()
  await unlink(from)
  await mkdir(from)
  await mirror.refresh()
  expect(mirror.skipped).toEqual([{ path: 'app.yaml', reason: 'ENOTDIR: not a directory' }])
  expect(await read()).toBe('one')
})
