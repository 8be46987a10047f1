// Several sources in one target.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { lstat, mkdir, readFile, readlink, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { IN_CREATE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO } from '../../src/inotify/constants.ts'
import { Inotify } from '../../src/inotify/inotify.ts'
import type { MirrorOptions } from '../../src/mirror/options.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { eventsSoFar } from '../support/events.ts'
import { rounds } from '../support/long.ts'
import { begin, directory, fixture, QUICK } from './fixture.ts'
import { isBuilt, mirroring } from './mirroring.ts'
import { said } from './said.ts'

function twoSources() {
  const { target } = fixture()
  const base = directory()
  const [a, b] = [join(base, 'a'), join(base, 'b')]
  const start = async (options?: MirrorOptions) => {
    for (const path of [a, b]) await mkdir(path, { recursive: true })
    const started = await begin([a, b], target, options)
    return started
  }
  const read = (name: string) => readFile(join(target, name), 'utf8')
  /** Returns the names that consumers see, without the marks of {@link eventsSoFar}. */
  const names = () =>
    readdirSync(target)
      .filter((name) => !/^(\.inotify-bridge|mark)-/.test(name))
      .sort()
  return { a, b, target, start, read, names }
}

/** The kubelet's directory with its first keys. */
async function configMap(path: string, files: Record<string, string>): Promise<void> {
  await mkdir(path, { recursive: true })
  await atomicWrite(path, files)
}

test('two ConfigMaps have one ..data, and a change of either is one MOVED_TO ..data', async () => {
  const { a, b, target, start, read, names } = twoSources()
  await configMap(a, { one: '1', stays: 'a' })
  await configMap(b, { two: '1' })
  const mirror = await start()
  const { updates } = said(mirror)
  using inotify = new Inotify()
  inotify.add(target, IN_MOVED_TO | IN_CREATE)
  for (const [source, files, changed] of [
    [a, { one: '2', stays: 'a' }, ['one']],
    [b, { two: '2' }, ['two']],
    [a, { one: '3', stays: 'a' }, ['one']],
    [b, { two: '3', new: '3' }, ['new', 'two']],
  ] as const) {
    await atomicWrite(source, { ...files })
    await mirror.refresh()
    expect(updates.splice(0)).toEqual([changed])
    const events = await eventsSoFar(inotify, target)
    expect(events.filter(({ name }) => name === '..data')).toMatchObject([{ mask: IN_MOVED_TO }])
    const generations = names().filter((name) => name.startsWith('..') && name !== '..data')
    expect(generations).toEqual([await readlink(join(target, '..data'))])
  }
  expect(names().filter((name) => !name.startsWith('..'))).toEqual(['new', 'one', 'stays', 'two'])
  for (const [name, content] of Object.entries({ one: '3', stays: 'a', two: '3', new: '3' }))
    expect(await read(name)).toBe(content)
})

const CHANGES = rounds(process.env.CHANGES, { quick: 15, long: 50 })

test('a tight reader of one finds it whole at every change of the other', async () => {
  const { a, b, target, start } = twoSources()
  await configMap(a, { key: 'A'.repeat(65_536) })
  await configMap(b, { other: '0' })
  const mirror = await start()
  const program = join(import.meta.dirname, 'reader.mjs')
  const reader = spawn(process.execPath, [program, join(target, 'key')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void reader.kill('SIGKILL'))
  await once(reader.stdout, 'data')
  for (let n = 1; n <= CHANGES; n++) {
    await atomicWrite(b, { other: `${n}` })
    await mirror.refresh()
  }
  reader.stdin.end()
  const seen = JSON.parse(await text(reader.stdout))
  expect(seen).toMatchObject({ missing: 0, torn: 0, versions: 1 })
  expect(seen.reads).toBeGreaterThan(100)
})

test('a flat directory beside a ConfigMap', async () => {
  const { a, b, target, start, read, names } = twoSources()
  await configMap(a, { key: '1' })
  await mkdir(join(b, 'sub'), { recursive: true })
  await writeFile(join(b, 'sub/flat'), '1')
  const mirror = await start()
  const { updates } = said(mirror)
  await writeFile(join(b, 'sub/flat'), '2')
  await mirror.refresh()
  await atomicWrite(a, { key: '2' })
  await mirror.refresh()
  expect(updates).toEqual([['sub/flat'], ['key']])
  expect([await read('key'), await read('sub/flat')]).toEqual(['2', '2'])
  expect(names()).toEqual(['..data', await readlink(join(target, '..data')), 'key', 'sub'].sort())
})

test('a name that two have from the start rejects, and both are named', async () => {
  const { a, b, target, start } = twoSources()
  await configMap(a, { key: 'a' })
  await configMap(b, { key: 'b' })
  await expect(start()).rejects.toMatchObject({
    code: 'EEXIST',
    path: join(b, 'key'),
    message: expect.stringContaining(`${a} has an entry 'key' as well`),
  })
  expect(existsSync(target)).toBe(false)
})

test.each([
  ['ConfigMaps', configMap],
  [
    'flat directories',
    async (path: string, files: Record<string, string>) => {
      await mkdir(path, { recursive: true })
      for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content)
      for (const name of readdirSync(path)) if (!(name in files)) await unlink(join(path, name))
    },
  ],
])('a name that two %s come to have: one error, and the first keeps it until it goes', async (_, write) => {
  const { a, b, start, read } = twoSources()
  await write(a, { key: 'of a', own: '1' })
  await write(b, { other: '1' })
  const mirror = await start()
  const { errors, updates } = said(mirror)
  await write(b, { other: '2', key: 'of b' })
  for (let n = 0; n < 3; n++) await mirror.refresh()
  expect(errors).toMatchObject([{ code: 'EEXIST', path: join(b, 'key') }])
  expect([await read('key'), await read('other')]).toEqual(['of a', '2'])
  updates.length = 0
  await write(a, { own: '2' })
  for (let n = 0; n < 2; n++) await mirror.refresh()
  expect([await read('key'), await read('own')]).toEqual(['of b', '2'])
  expect(updates.flat().sort()).toEqual(['key', 'own'])
  expect(errors).toHaveLength(1)
  // It has passed, so that the next one is told of again.
  await write(a, { own: '2', key: 'of a again' })
  for (let n = 0; n < 2; n++) await mirror.refresh()
  expect(errors).toHaveLength(2)
})

test('one that is lost is named, and the changes of the others go on arriving', async () => {
  const { a, b, start, read } = twoSources()
  await configMap(a, { of_a: '1' })
  await configMap(b, { of_b: '1' })
  const mirror = await start()
  const { states } = said(mirror)
  await rename(a, `${a}.away`)
  await mirror.refresh()
  await atomicWrite(b, { of_b: '2' })
  await mirror.refresh()
  expect(mirror.state).toBe('source-lost')
  expect([await read('of_a'), await read('of_b')]).toEqual(['1', '2'])
  await atomicWrite(`${a}.away`, { of_a: '2' })
  await rename(`${a}.away`, a)
  await mirror.refresh()
  expect([await read('of_a'), await read('of_b')]).toEqual(['2', '2'])
  expect(states).toEqual([
    ['source-lost', `${a}: ENOENT: no such file or directory`],
    ['mirroring', ''],
  ])
})

test('the others do not wait in a new target for one that is lost', async () => {
  const { a, b, target, start, read } = twoSources()
  await configMap(a, { of_a: '1' })
  await configMap(b, { of_b: '1' })
  const mirror = await start()
  const { errors } = said(mirror)
  await rename(a, `${a}.away`)
  await mirror.refresh()
  await rename(target, `${target}.away`)
  onTestFinished(() => rm(`${target}.away`, { recursive: true }))
  // The mirror shows what had waited for the lost source in passes of its own.
  await mirror.refresh()
  await vi.waitFor(async () => expect(await read('of_b')).toBe('1'), { timeout: 60_000 })
  expect(mirror.state).toBe('source-lost')
  await atomicWrite(b, { of_b: '2' })
  await mirror.refresh()
  expect(await read('of_b')).toBe('2')
  // The same holds when somebody clears away the mirror's own directory: the entries of the lost source stay then.
  await rename(`${a}.away`, a)
  await mirror.refresh()
  await rename(a, `${a}.away`)
  await mirror.refresh()
  for (const name of readdirSync(target))
    if (name.startsWith('.inotify-bridge-')) await rm(join(target, name), { recursive: true })
  await mirror.refresh()
  await atomicWrite(b, { of_b: '3' })
  await mirror.refresh()
  await vi.waitFor(async () => expect([await read('of_a'), await read('of_b')]).toEqual(['1', '3']), {
    timeout: 60_000,
  })
  expect(errors.map((error) => 'code' in error && error.code)).toEqual(['ESTALE', 'ESTALE'])
})

test('in a new target all is lacking until it has been looked at', async () => {
  const { a, b, target, start } = twoSources()
  await configMap(a, { of_a: '1' })
  await mkdir(b)
  await writeFile(join(b, 'of_b'), '1')
  const mirror = await start({ quiet: 200 })
  expect(mirror.lacking).toBeUndefined()
  await rename(target, `${target}.away`)
  onTestFinished(() => rm(`${target}.away`, { recursive: true }))
  const lacking: unknown[] = []
  mirror.on('pass', () => lacking.push(mirror.lacking))
  mirror.on('error', () => {})
  await mirror.refresh()
  // The ConfigMap's pass is over first, as the flat file must hold still.
  expect(lacking[0]).toMatchObject({ isPassing: true })
  await vi.waitFor(() => expect(mirror.lacking).toBeUndefined(), { timeout: 60_000 })
  expect(existsSync(join(target, 'of_b'))).toBe(true)
})

test("a flat directory's ..data_tmp is there at every swap of a ConfigMap beside it", async () => {
  const { a, b, target, start, read } = twoSources()
  await configMap(a, { key: '1' })
  await mkdir(b)
  await writeFile(join(b, '..data_tmp'), 'content')
  const mirror = await start()
  using inotify = new Inotify()
  inotify.add(target, IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
  for (const version of ['2', '3']) {
    await atomicWrite(a, { key: version })
    await mirror.refresh()
    expect([await read('key'), await read('..data_tmp')]).toEqual([version, 'content'])
  }
  const names = (await eventsSoFar(inotify, target)).map(({ name }) => name)
  expect(names).toContain('..data')
  expect(names).not.toContain('..data_tmp')
})

test.each(['a file', 'a directory with a key in it'])(
  "%s of one that is called as the generation is not in the way of another's readers",
  async (kind) => {
    const { a, b, target, start, read } = twoSources()
    await configMap(a, { key: 'of a' })
    const mirror = await start()
    const name = await readlink(join(target, '..data'))
    const { rename: original } = SyscallThread.prototype
    const found = new Set<string>()
    const spy = vi.spyOn(SyscallThread.prototype, 'rename')
    onTestFinished(() => spy.mockRestore())
    spy.mockImplementation(async function (this: SyscallThread, ...args) {
      await original.apply(this, args)
      found.add(await read('key').catch(String))
    })
    if (kind !== 'a file') await mkdir(join(b, name))
    const at = kind === 'a file' ? name : `${name}/key`
    await writeFile(join(b, at), 'of b')
    for (let n = 0; n < 2; n++) await mirror.refresh()
    expect([...found]).toEqual(['of a'])
    expect([await read('key'), await read(at)]).toEqual(['of a', 'of b'])
  },
)

test('the limits are for each of them; one over them is linked to and the other goes on', async () => {
  const { a, b, target, start, read } = twoSources()
  await configMap(a, { a1: '1', a2: '1' })
  await configMap(b, { b1: '1', b2: '1' })
  const mirror = await start({ limits: { files: 2, bytes: 100 } })
  expect(mirror.state).toBe('mirroring')
  await atomicWrite(a, { a1: '2', a2: '2', a3: '2' })
  await mirror.refresh()
  expect(mirror.state).toBe('over-limit')
  expect([await read('a1'), await read('a3'), await read('b1')]).toEqual(['2', '2', '1'])
  expect(await readlink(join(target, '..data/a1'))).toBe(join(a, '..data/a1'))
  using inotify = new Inotify()
  inotify.add(target, IN_MOVED_TO | IN_CREATE)
  await atomicWrite(b, { b1: '2', b2: '2' })
  await mirror.refresh()
  expect(await read('b1')).toBe('2')
  const events = await eventsSoFar(inotify, target)
  expect(events.filter(({ name }) => name === '..data')).toMatchObject([{ mask: IN_MOVED_TO }])
  await atomicWrite(a, { a1: '3' })
  await mirror.refresh()
  expect(mirror.state).toBe('mirroring')
  expect((await lstat(join(target, '..data/a1'))).isFile()).toBe(true)
  expect(await read('a1')).toBe('3')
})

// The target has that content at that name, from the other: it is not this one's to count on.
test.each(['x', 'sub'])('%s moves from one of them to another, and is there', async (name) => {
  const { a, b, target, start, read } = twoSources()
  for (const path of [join(a, 'sub'), b]) await mkdir(path, { recursive: true })
  for (const path of ['a/x', 'a/sub/x', 'b/y']) await writeFile(join(a, '..', path), 'value')
  const mirror = await start({ quiet: 100 })
  await rename(join(a, name), join(b, name))
  await mirror.refresh()
  expect(existsSync(join(target, name))).toBe(true)
  expect([await read('x'), await read('sub/x'), await read('y')]).toEqual(['value', 'value', 'value'])
})

test('close() removes what is of any of them, and only that', async () => {
  const { a, b, target, start } = twoSources()
  await configMap(a, { one: '1' })
  await mkdir(join(b, 'sub'), { recursive: true })
  await writeFile(join(b, 'sub/flat'), '1')
  await (await start()).close()
  expect(existsSync(target)).toBe(false)
  await mkdir(target)
  await writeFile(join(target, 'theirs'), '')
  await (await start()).close()
  expect(readdirSync(target)).toEqual(['theirs'])
})

test.skipIf(!isBuilt)('one that was killed is taken over (needs dist)', async () => {
  const { a, b, target, start, read, names } = twoSources()
  await configMap(a, { one: '1', goes: '1' })
  await configMap(b, { two: '1' })
  await writeFile(join(b, 'flat'), '1')
  const child = mirroring([a, b], target, QUICK)
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const { ino } = await stat(join(target, 'flat'))
  await atomicWrite(a, { one: '2' })
  const mirror = await start()
  expect([await read('one'), await read('two'), await read('flat')]).toEqual(['2', '1', '1'])
  expect((await stat(join(target, 'flat'))).ino, 'what is still right').toBe(ino)
  expect(names().filter((name) => !name.startsWith('..'))).toEqual(['flat', 'one', 'two'])
  await mirror.close()
  expect(existsSync(target)).toBe(false)
  await rm(a, { recursive: true })
})
