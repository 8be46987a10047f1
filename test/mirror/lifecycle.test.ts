import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { mirror } from '../../src/mirror/mirror.ts'
import { KATA_LIMITS } from '../../src/mirror/options.ts'
import { directory, fixture } from './fixture.ts'

test('close() removes what the mirror made, and only that', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: '1', 'nested/b': '2' })
  const mirror = await start()
  const closed = vi.fn()
  mirror.on('close', closed)
  await mirror.close()
  await mirror.close()
  expect(existsSync(target)).toBe(false)
  expect(mirror.state).toBe('closed')
  expect(closed).toHaveBeenCalledTimes(1)
  await expect(mirror.refresh()).rejects.toMatchObject({ code: 'EBADF' })

  await mkdir(target)
  await writeFile(join(target, 'theirs'), '')
  await (await start()).close()
  expect(await readdir(target)).toEqual(['theirs'])
})

test('close({ keep }) leaves the content and nothing else; the next mirror takes it over', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: '1', b: '1' })
  await (await start()).close({ keep: true })
  expect((await readdir(target)).sort()).toEqual((await readdir(source)).sort())
  await atomicWrite(source, { a: '2' })
  const again = await start()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  await again.close({ keep: true })
  expect((await readdir(target)).sort()).toEqual((await readdir(source)).sort())
})

test('an abort closes, and one that came before rejects', async () => {
  const { source, target, start } = fixture()
  const controller = new AbortController()
  const mirror = await start({ signal: controller.signal })
  controller.abort()
  await once(mirror, 'close')
  expect(existsSync(target)).toBe(false)
  await expect(start({ signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' })
  expect(existsSync(source)).toBe(true)
})

test('a mirror that was killed is taken over: leftovers go, what is still right is not touched', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: 'same' })
  await writeFile(join(source, 'stays'), 'same')
  await writeFile(join(source, 'goes'), '')
  const killed = await start()
  // A copy of the target as it is now, left by a process that is not there any more.
  const left = `${target}.left`
  await cp(target, left, { recursive: true, verbatimSymlinks: true })
  await killed.close()
  const [staging = ''] = (await readdir(left)).filter((name) => name.startsWith('.inotify-bridge-'))
  const ledger = join(left, staging, 'ledger')
  await writeFile(ledger, (await readFile(ledger, 'utf8')).replace(` ${process.pid} `, ' 1 '))
  await mkdir(join(left, staging, 'work'))
  await writeFile(join(left, staging, 'work/0'), 'half a fi')
  await symlink('nowhere', join(left, '..data_tmp'))
  await writeFile(join(left, 'theirs'), '')
  await unlink(join(source, 'goes'))

  const { ino } = await stat(join(left, 'a'))
  const next = await mirror(source, left, { interval: 60_000, quiet: 5 })
  const names = (await readdir(left)).filter((name) => !name.startsWith('.inotify-bridge-'))
  expect(names.sort()).toEqual([...(await readdir(source)), 'theirs'].sort())
  expect((await stat(join(left, 'a'))).ino).toBe(ino)
  expect(existsSync(join(left, staging))).toBe(false)
  await next.close()
  expect(await readdir(left)).toEqual(['theirs'])
  await rm(left, { recursive: true })
})

test('a target in the source, around it, or the same, by whatever path', async () => {
  const { source } = fixture()
  const outside = directory()
  await mkdir(join(source, 'sub'))
  await symlink(source, join(outside, 'alias'))
  await expect(mirror(source, join(source, '..'))).rejects.toMatchObject({ code: 'EINVAL' })
  for (const target of ['sub', 'new', '.']) {
    await expect(mirror(source, join(source, target)), target).rejects.toMatchObject({ code: 'EINVAL' })
    await expect(mirror(source, join(outside, 'alias', target)), target).rejects.toMatchObject({
      code: 'EINVAL',
    })
  }
  await expect(mirror(join(outside, 'alias'), join(source, 'new'))).rejects.toMatchObject({ code: 'EINVAL' })
  expect(await readdir(source)).toEqual(['sub'])
})

test('what is no source', async () => {
  const { source, target } = fixture()
  await writeFile(join(source, 'file'), '')
  await symlink('/dev/null', join(source, 'device'))
  await expect(mirror(join(source, 'device'), target)).rejects.toMatchObject({ code: 'ENOTDIR' })
  await expect(mirror(join(source, 'missing'), target)).rejects.toMatchObject({ code: 'ENOENT' })
  await expect(mirror([source, source], target)).rejects.toMatchObject({
    code: 'EEXIST',
    path: join(source, 'file'),
  })
  expect(existsSync(target)).toBe(false)
})

test('options of the wrong kind are named', async () => {
  const { source, target } = fixture()
  for (const options of [
    { interval: 0 },
    { interval: Number.NaN },
    { quiet: -1 },
    { limits: { files: -1, bytes: 1 } },
    { overLimit: 'drop' },
    { signal: {} },
    { persistent: 1 },
  ]) {
    const [name] = Object.keys(options)
    // @ts-expect-error: that is the point
    await expect(mirror(source, target, options), name).rejects.toThrow(`options.${name}`)
  }
  vi.stubEnv('INOTIFY_BRIDGE_INTERVAL', 'soon')
  await expect(mirror(source, target)).rejects.toThrow('INOTIFY_BRIDGE_INTERVAL')
  vi.unstubAllEnvs()
  expect(KATA_LIMITS).toEqual({ files: 8, bytes: 1_048_576 })
})

test('a second mirror of one target is refused', async () => {
  const { start } = fixture()
  await start()
  await expect(start()).rejects.toMatchObject({ code: 'EBUSY' })
})

test('a source that goes keeps the target, and resumes when it is back', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  const mirror = await start()
  const states: unknown[] = []
  mirror.on('state', (...state) => states.push(state))
  await rename(source, `${source}.away`)
  await mirror.refresh()
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
  await writeFile(join(`${source}.away`, 'a'), '2')
  await rename(`${source}.away`, source)
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  expect(states).toEqual([
    ['source-lost', 'ENOENT: no such file or directory'],
    ['mirroring', ''],
  ])
})

test('a target that cannot be written is an error, once, and the entry is tried again', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  await mkdir(join(source, 'sub'))
  await writeFile(join(source, 'sub/b'), '1')
  const mirror = await start()
  const errors: unknown[] = []
  mirror.on('error', (error) => errors.push(error))
  // Somebody puts a file where the mirror has a directory.
  await rm(join(target, 'sub'), { recursive: true })
  await writeFile(join(target, 'sub'), '')
  await writeFile(join(source, 'a'), '2')
  await writeFile(join(source, 'sub/b'), '2')
  await mirror.refresh()
  await mirror.refresh()
  expect(errors).toMatchObject([{ code: 'ENOTDIR', path: join(target, 'sub/b') }])
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  await unlink(join(target, 'sub'))
  await mkdir(join(target, 'sub'))
  await mirror.refresh()
  expect(await readFile(join(target, 'sub/b'), 'utf8')).toBe('2')
})

test('a full target keeps the last good version and says so; what fits is mirrored', async ({ skip }) => {
  const { source } = fixture()
  const target = directory()
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', target]).status !== 0)
    skip('needs the right to mount')
  onTestFinished(() => void spawnSync('umount', [target]))
  await writeFile(join(source, 'a'), 'good')
  const started = await mirror(source, target, { interval: 60_000, quiet: 5 })
  onTestFinished(() => started.close())
  const errors: unknown[] = []
  started.on('error', (error) => errors.push(error))
  await writeFile(join(source, 'a'), 'x'.repeat(100_000))
  await writeFile(join(source, 'b'), 'fits')
  await started.refresh()
  await started.refresh()
  expect(errors).toMatchObject([{ code: 'ENOSPC', path: join(target, 'a') }])
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('good')
  expect(await readFile(join(target, 'b'), 'utf8')).toBe('fits')
  await expect(mirror(source, join(target, 'second')), 'a first pass').rejects.toMatchObject({
    code: 'ENOSPC',
  })
  expect(existsSync(join(target, 'second'))).toBe(false)
  await writeFile(join(source, 'a'), 'small again')
  await started.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('small again')
})

test('a target that a bind mount hides in the source is not copied into itself', async ({ skip }) => {
  const { source } = fixture()
  const target = directory()
  await mkdir(join(source, 'sub'))
  await writeFile(join(source, 'a'), '1')
  if (spawnSync('mount', ['--bind', join(source, 'sub'), target]).status !== 0)
    skip('needs the right to mount')
  onTestFinished(() => void spawnSync('umount', [target]))
  const started = await mirror(source, target, { interval: 60_000, quiet: 5 })
  onTestFinished(() => started.close())
  expect(started.skipped).toEqual([{ path: 'sub', reason: 'it is the target itself' }])
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
})

test('refresh() during a pass waits for one that starts after the call', async () => {
  const { source, target, start } = fixture()
  const mirror = await start({ quiet: 50 })
  await writeFile(join(source, 'a'), '1')
  const running = mirror.refresh()
  await writeFile(join(source, 'b'), '1')
  const [first, second] = [mirror.refresh(), mirror.refresh()]
  await Promise.all([running, first, second])
  expect(await readFile(join(target, 'b'), 'utf8')).toBe('1')
})

test('an unmounted source is lost, though an empty directory is left at its path', async ({ skip }) => {
  const { source, target, start } = fixture()
  // On the same device as what it covers: only the mount tells the two apart.
  const mounted = directory()
  const mount = () => spawnSync('mount', ['--bind', mounted, source]).status === 0
  // Lazily: what is looked at is held open, as any program's working directory is.
  const unmount = () => spawnSync('umount', ['-l', source]).status === 0
  if (!mount()) skip('needs the right to mount')
  onTestFinished(() => void unmount())
  await writeFile(join(source, 'a'), '1')
  const mirror = await start()
  expect(unmount()).toBe(true)
  await mirror.refresh()
  expect(mirror.state).toBe('source-lost')
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
  await writeFile(join(mounted, 'a'), '2')
  mount()
  await mirror.refresh()
  expect(mirror.state).toBe('mirroring')
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
})

test('a source that was emptied empties the target', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  const mirror = await start()
  await rm(source, { recursive: true })
  await mkdir(source)
  await mirror.refresh()
  expect(mirror.state).toBe('mirroring')
  expect(existsSync(join(target, 'a'))).toBe(false)
})

test('a target on a disk is warned of', async () => {
  const { source } = fixture()
  const warned = once(process, 'warning')
  const started = await mirror(source, join(directory(), 'target'), { persistent: false })
  expect((await warned)[0]).toMatchObject({ name: 'InotifyBridgeWarning', code: 'INOTIFY_BRIDGE_TARGET' })
  await started.close()
})
