import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { InotifyError } from '../../src/errors.ts'
import { mirror } from '../../src/mirror/mirror.ts'
import { KATA_LIMITS } from '../../src/mirror/options.ts'
import { Staging } from '../../src/mirror/staging/staging.ts'
import { SyncPass } from '../../src/mirror/sync_pass.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { locksAsOnNfs } from '../support/nfs_locks.ts'
import { directory, fixture, QUICK } from './fixture.ts'
import { isBuilt, mirroring } from './mirroring.ts'
import { shownIn, stagingIn } from './names.ts'
import { said } from './said.ts'

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

test('close({ keep }) leaves the content and a note of it; the next mirror takes it over', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: '1', b: '1' })
  await (await start()).close({ keep: true })
  expect(await shownIn(target)).toEqual((await readdir(source)).sort())
  await atomicWrite(source, { a: '2' })
  const again = await start()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  await again.close({ keep: true })
  expect(await shownIn(target)).toEqual((await readdir(source)).sort())
  expect(await readdir(target)).toHaveLength((await readdir(source)).length + 1)
  await (await start()).close()
  expect(existsSync(target)).toBe(false)
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

test('a mirror that was killed is taken over: leftovers go, what is still right is not touched (needs dist)', async ({
  skip,
}) => {
  if (!isBuilt) skip('needs dist')
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: 'same' })
  await writeFile(join(source, 'stays'), 'same')
  await writeFile(join(source, 'goes'), '')
  const killed = mirroring(source, target, QUICK)
  await once(killed.stdout, 'data')
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  const staging = await stagingIn(target)
  await writeFile(join(staging, 'work0/99'), 'half a fi')
  await symlink('nowhere', join(target, '..data_tmp'))
  await writeFile(join(target, 'theirs'), '')
  await unlink(join(source, 'goes'))

  const { ino } = await stat(join(target, 'a'))
  const next = await start()
  expect(await shownIn(target)).toEqual([...(await readdir(source)), 'theirs'].sort())
  expect((await stat(join(target, 'a'))).ino).toBe(ino)
  expect(existsSync(join(target, staging))).toBe(false)
  await atomicWrite(source, { a: 'other' })
  await next.refresh()
  expect(await shownIn(target)).toEqual([...(await readdir(source)), 'theirs'].sort())
  await next.close()
  expect(await readdir(target)).toEqual(['theirs'])
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

test('a target that cannot be made is refused by the error of the call, not as one that others remove', async () => {
  const { source } = fixture()
  // procfs answers mkdir(2) with ENOENT.
  const target = '/proc/inotify-bridge'
  await expect(mirror(source, target)).rejects.toMatchObject({
    code: 'ENOENT',
    syscall: 'mkdir',
    path: target,
  })
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

test('also on NFS, which has no lock of a file that is open to be read', async () => {
  locksAsOnNfs()
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  const first = await start()
  await expect(start()).rejects.toMatchObject({ code: 'EBUSY' })
  await first.close({ keep: true })
  await start()
  expect((await readdir(target)).filter((name) => name.startsWith('.'))).toHaveLength(1)
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

/** Collects the warnings of slow looks from now on. */
function saidSlow(): string[] {
  const messages: string[] = []
  const listen = ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'INOTIFY_BRIDGE_SLOW_POLL') messages.push(message)
  }
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  return messages
}

test('a look that takes long is said once, but not the first, which has everything to copy', async () => {
  const { source, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  const { run } = SyncPass.prototype
  const spy = vi.spyOn(SyncPass.prototype, 'run')
  onTestFinished(() => spy.mockRestore())
  spy.mockImplementation(async function (this: SyncPass, signal: AbortSignal) {
    await sleep(300)
    return await run.call(this, signal)
  })
  const messages = saidSlow()
  const mirror = await start({ interval: 50 })
  // Warnings are emitted in the next tick.
  await new Promise(setImmediate)
  expect(messages).toEqual([])
  await mirror.refresh()
  await mirror.refresh()
  await new Promise(setImmediate)
  expect(messages).toEqual([expect.stringContaining(`looking at ${source} took `)])
})

test.each([
  { interval: 10, longest: 40, took: undefined },
  { interval: 10, longest: 249, took: undefined },
  { interval: 10, longest: 260, took: '0.3 s' },
  { interval: 1000, longest: 900, took: undefined },
  { interval: 1000, longest: 1400, took: '1.4 s' },
])(
  'nor is one by stat alone, of $longest ms at an interval of $interval, unless it is 250 ms',
  async ({ interval, longest, took }) => {
    const { source, start } = fixture()
    const { awaitChange } = SyscallThread.prototype
    let looks = 0
    const spy = vi.spyOn(SyscallThread.prototype, 'awaitChange')
    onTestFinished(() => spy.mockRestore())
    spy.mockImplementation(function (this: SyscallThread, ...asked) {
      return looks++ === 0 ? Promise.resolve({ ended: 'changed', longest }) : awaitChange.call(this, ...asked)
    })
    const messages = saidSlow()
    await start({ interval })
    await vi.waitFor(() => expect(looks).toBeGreaterThan(1), 60_000)
    const said = `looking at ${source} took ${took}, longer than the interval`
    await vi.waitFor(() => expect(messages).toEqual(took === undefined ? [] : [said]), 60_000)
  },
)

test('a start that fails waits for the first passes of the other sources before it clears up', async () => {
  const { source, target } = fixture()
  const other = directory()
  for (const path of [source, other]) await writeFile(join(path, basename(path)), '')
  const order: string[] = []
  const { run } = SyncPass.prototype
  const spy = vi.spyOn(SyncPass.prototype, 'run')
  spy.mockImplementationOnce(async () => {
    throw new InotifyError({ errno: 'ENOSPC', syscall: 'write', path: target })
  })
  spy.mockImplementationOnce(async function (this: SyncPass, signal: AbortSignal) {
    const outcome = await run.call(this, signal)
    // The first has failed long since.
    await sleep(50)
    order.push('second pass')
    return outcome
  })
  const { remove } = Staging.prototype
  const removing = vi.spyOn(Staging.prototype, 'remove')
  removing.mockImplementation(async function (this: Staging) {
    order.push('cleared up')
    await remove.call(this)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  const started = mirror([source, other], target, { interval: 60_000, quiet: 0 })
  await expect(started).rejects.toMatchObject({ code: 'ENOSPC' })
  expect(order).toEqual(['second pass', 'cleared up'])
  expect(existsSync(target)).toBe(false)
})

test('an abort ends a start that would take long, and what it found is left as it was', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), 'one')
  for (const before of ['nothing', 'a mirror that has ended']) {
    const controller = new AbortController()
    const starting = start({ quiet: 60_000, signal: controller.signal })
    await expect.poll(() => existsSync(target) && readdirSync(target).length).toBeGreaterThan(0)
    const began = performance.now()
    controller.abort()
    await expect(starting).rejects.toMatchObject({ name: 'AbortError' })
    expect(performance.now() - began).toBeLessThan(30_000)
    expect(existsSync(target), before).toBe(before !== 'nothing')
    if (before !== 'nothing') break
    await (await start()).close({ keep: true })
    await writeFile(join(source, 'a'), 'two')
  }
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('one')
  await start()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('two')
})

test('a target that does not answer is an error, once while that lasts', async () => {
  const { source, target, start } = fixture()
  const targets = new Set<SyscallThread>()
  const { mkdir } = SyscallThread.prototype
  const making = vi.spyOn(SyscallThread.prototype, 'mkdir')
  making.mockImplementation(async function (this: SyscallThread, ...args) {
    targets.add(this)
    await mkdir.apply(this, args)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  const mirror = await start({ quiet: 2500 })
  const { errors, states } = said(mirror)
  let isStalled = true
  vi.spyOn(SyscallThread.prototype, 'unanswered', 'get').mockImplementation(function (this: SyscallThread) {
    return isStalled && targets.has(this) ? 6000 : 0
  })
  await writeFile(join(source, 'a'), 'one')
  await mirror.refresh()
  expect(errors).toMatchObject([{ code: 'ETIMEDOUT', path: target }])
  expect(mirror.errors).toEqual([])
  isStalled = false
  await mirror.refresh()
  expect([errors.length, states]).toEqual([1, []])
})

test('a directory that is replaced as it is listed is no source that is lost', async () => {
  const { source, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  const mirror = await start()
  const states: string[] = []
  mirror.on('state', (state) => states.push(state))
  const { names } = DirectoryHandle.prototype
  const spy = vi.spyOn(DirectoryHandle.prototype, 'names')
  const replaced = vi.fn(async () => {
    await rm(source, { recursive: true })
    await mkdir(source)
    await writeFile(join(source, 'a'), '2')
  })
  spy.mockImplementation(async function (this: DirectoryHandle, most?: number) {
    const isSource = this.opened.ino === (await stat(source, { bigint: true })).ino
    if (isSource && replaced.mock.calls.length === 0) await replaced()
    return await names.call(this, most)
  })
  onTestFinished(() => spy.mockRestore())
  await mirror.refresh()
  expect(replaced).toHaveBeenCalledTimes(1)
  expect(states).toEqual([])
})
