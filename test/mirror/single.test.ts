// A single file mirrored to a single file.
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { IN_ALL_EVENTS, IN_CREATE, IN_MOVED_TO } from '../../src/inotify/constants.ts'
import { Inotify } from '../../src/inotify/inotify.ts'
import { eventsSoFar } from '../support/events.ts'
import { begin, fixture, QUICK } from './fixture.ts'
import { isBuilt, mirroring } from './mirroring.ts'
import { said } from './said.ts'

const READING = 0x31

function singleFile() {
  const { source, target } = fixture()
  const [from, to] = [join(source, 'key'), join(target, 'app.yaml')]
  const start = (path = from, file = to) => begin(path, file)
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

test('whatever its target is called', async () => {
  const { target, from, start } = singleFile()
  await writeFile(from, 'one')
  const to = join(target, '.inotify-bridge-settings')
  await start(from, to)
  expect(await readFile(to, 'utf8')).toBe('one')
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

/** A mirror of `key`, whose directory is by then another user's; what the test does with the link, and a secret beside the source. */
async function ownedByAnother() {
  const { source, from, start, read } = singleFile()
  const secret = join(dirname(source), 'token')
  await writeFile(secret, 'secret')
  const point = async (to: string, at = from) => {
    await symlink(to, `${at}.next`)
    await rename(`${at}.next`, at)
  }
  return { source, from, secret, start, read, point }
}

const OUTSIDE = {
  'an absolute link': async ({ secret, point }: Awaited<ReturnType<typeof ownedByAnother>>) => point(secret),
  'a relative link': async ({ point }) => point('../token'),
  'two links': async ({ source, secret, point }) => {
    await symlink(secret, join(source, 'second'))
    await point('second')
  },
  'a link behind a directory': async ({ source, point }) => {
    await mkdir(join(source, 'sub'))
    await symlink('../../token', join(source, 'sub/second'))
    await point('sub/second')
  },
  'a link to a directory outside': async ({ source, secret, point }) => {
    await symlink(dirname(secret), join(source, 'away'))
    await point('away/token')
  },
  'a link behind ..data': async ({ source, secret, point }) => {
    await mkdir(join(source, '..1'))
    await symlink(secret, join(source, '..1/key'))
    await symlink('..1', join(source, '..data'))
    await point('..data/key')
  },
} satisfies Record<string, (of: Awaited<ReturnType<typeof ownedByAnother>>) => Promise<void>>

test.each(Object.entries(OUTSIDE))('%s to a file outside is not followed', async (_, point) => {
  const of = await ownedByAnother()
  await writeFile(of.from, 'public')
  const mirror = await of.start()
  await point(of)
  await mirror.refresh()
  expect(await of.read()).toBe('public')
  expect(mirror.state).toBe('mirroring')
  expect(mirror.skipped).toEqual([
    { path: 'app.yaml', reason: expect.stringMatching(/^links outside the source's directory: .*token$/) },
  ])
  await unlink(of.from)
  await writeFile(of.from, 'again')
  await mirror.refresh()
  expect([await of.read(), mirror.skipped]).toEqual(['again', []])
})

test('one that was there at the start is, but to no other path', async () => {
  const { source, secret, start, read, point } = await ownedByAnother()
  const zones = join(dirname(source), 'zones')
  await mkdir(zones)
  for (const name of ['one', 'two']) await writeFile(join(zones, name), name)
  await point(join(zones, 'current'))
  await point('one', join(zones, 'current'))
  const mirror = await start()
  expect(await read()).toBe('one')
  // As the one who keeps that directory likes it.
  await point('two', join(zones, 'current'))
  await mirror.refresh()
  expect([await read(), mirror.skipped]).toEqual(['two', []])
  await point(secret, join(zones, 'current'))
  await mirror.refresh()
  expect([await read(), mirror.skipped]).toMatchObject(['two', [{ path: 'app.yaml' }]])
  await point(join(zones, 'one'))
  await mirror.refresh()
  expect([await read(), mirror.skipped]).toMatchObject(['two', [{ path: 'app.yaml' }]])
  await point('one', join(zones, 'current'))
  await point(join(zones, 'current'))
  await mirror.refresh()
  expect([await read(), mirror.skipped]).toEqual(['one', []])
})

test('a key of a ConfigMap that a link elsewhere leads to follows the swaps', async () => {
  const { source, start, read, point } = await ownedByAnother()
  const volume = join(dirname(source), 'volume')
  await mkdir(volume)
  await atomicWrite(volume, { key: 'one' })
  await point('../volume/key')
  const mirror = await start()
  await atomicWrite(volume, { key: 'two' })
  await mirror.refresh()
  expect([await read(), mirror.state, mirror.skipped]).toEqual(['two', 'mirroring', []])
})

test('over the limits, what has become a link outside is not linked to any more', async () => {
  const { from, secret, point } = await ownedByAnother()
  const { to } = singleFile()
  await mkdir(dirname(to), { recursive: true })
  await writeFile(from, 'much')
  const mirrored = await begin(from, to, { limits: { files: 1, bytes: 1 } })
  expect(await readFile(to, 'utf8')).toBe('much')
  await point(secret)
  await mirrored.refresh()
  expect(existsSync(to)).toBe(false)
})
