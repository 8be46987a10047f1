// Faults that a mirror must stand: being killed, a full target, a source that changes during a pass.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises'

import { constants } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { IN_CREATE, IN_DELETE } from '../../src/inotify/constants.ts'
import { Inotify } from '../../src/inotify/inotify.ts'
import { removeUnfinished } from '../../src/mirror/staging/leftover_staging.ts'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { eventsSoFar } from '../support/events.ts'
import { rounds } from '../support/long.ts'
import { fixture } from './fixture.ts'
import { isBuilt, mirroring } from './mirroring.ts'
import { shownIn, stagingIn } from './names.ts'
import { said } from './said.ts'

const openDescriptors = () => readdirSync('/proc/self/fd').length
const letter = (n: number) => String.fromCharCode(65 + (n % 26))

/** Each starts a process; without KILLS as many as there is time for. */
const KILLS = rounds(process.env.KILLS, { quick: 10, long: 20 })

test.skipIf(!isBuilt)(
  `killed ${KILLS} times at any moment: the target is old or new, and the next mirror converges (needs dist)`,
  async () => {
    const { source, target, start } = fixture()
    let version = 0
    const size = 65_536
    const write = async () => {
      version++
      const whole = letter(version).repeat(size)
      await atomicWrite(source, { a: whole, b: whole, [`only${version % 3}`]: whole })
      await writeFile(join(source, 'flat.tmp'), whole)
      await rename(join(source, 'flat.tmp'), join(source, 'flat'))
    }
    await write()
    const check = async () => {
      if (!existsSync(join(target, '..data'))) return
      const generation = join(target, await readlink(join(target, '..data')))
      const [a, b] = [
        await readFile(join(generation, 'a'), 'utf8'),
        await readFile(join(target, 'b'), 'utf8'),
      ]
      expect(a).toBe(a.charAt(0).repeat(size))
      expect(b).toBe(a)
      if (!existsSync(join(target, 'flat'))) return
      const flat = await readFile(join(target, 'flat'), 'utf8')
      expect(flat).toBe(flat.charAt(0).repeat(size))
    }
    for (let round = 0; round < KILLS; round++) {
      const child = mirroring(source, target, { interval: 1, quiet: 0 })
      const exited = once(child, 'exit')
      // At any moment of starting for some, of working for the others.
      if (round % 3 > 0) await once(child.stdout, 'data')
      const until = performance.now() + Math.random() * (round % 3 > 0 ? 60 : 250)
      while (performance.now() < until) await write()
      child.kill('SIGKILL')
      await exited
      await check()
    }
    const mirrored = await start()
    await check()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe(await readFile(join(source, 'a'), 'utf8'))
    expect(await readFile(join(target, 'flat'), 'utf8')).toBe(await readFile(join(source, 'flat'), 'utf8'))
    expect(await shownIn(target)).toEqual((await readdir(source)).sort())
    await mirrored.close()
    expect(existsSync(target) ? await readdir(target) : []).toEqual([])
  },
)

const REWRITES = rounds(process.env.REWRITES, { quick: 100, long: 300 })
const PASSES = rounds(process.env.PASSES, { quick: 150, long: 500 })

// A pass takes some twenty turns from thread to thread, and on a busy machine each waits for a processor.
test(`${REWRITES} rewrites in place: nothing torn, nothing missing, no descriptor left open after ${PASSES} passes`, async () => {
  const { source, target, start } = fixture()
  const path = join(source, 'key')
  const write = (n: number) => writeFile(path, letter(n).repeat(65_536))
  await write(0)
  const before = openDescriptors()
  const mirror = await start({ interval: 1, quiet: 50 })
  const reader = spawn(process.execPath, [join(import.meta.dirname, 'reader.mjs'), join(target, 'key')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(reader.stdout, 'data')
  for (let n = 1; n <= REWRITES; n++) {
    await write(n)
    if (n % 10 === 0) await mirror.refresh()
  }
  reader.stdin.end()
  expect(JSON.parse(await text(reader.stdout))).toMatchObject({ missing: 0, torn: 0 })
  for (let n = 0; n < PASSES; n++) await mirror.refresh()
  await mirror.close()
  await vi.waitFor(() => expect(openDescriptors()).toBeLessThanOrEqual(before), {
    timeout: 60_000,
    interval: 5,
  })
})

test('a file that has become empty, as one that is rewritten in place is at first, is given more time', async () => {
  const { source, target, start } = fixture()
  const path = join(source, 'a')
  await writeFile(path, 'one')
  const mirror = await start({ quiet: 10 })
  await writeFile(path, '')
  const emptied = performance.now()
  await mirror.refresh()
  expect(mirror.skipped).toEqual([{ path: 'a', reason: 'has not held still yet: it has been emptied' }])
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('one')
  await vi.waitFor(async () => {
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('')
  }, 60_000)
  expect(performance.now() - emptied).toBeGreaterThan(500)
  expect(mirror.skipped).toEqual([])
  await writeFile(path, 'two')
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('two')
})

test('an abort during the first pass rejects and leaves nothing behind', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'a'), '1')
  const before = openDescriptors()
  const controller = new AbortController()
  const started = start({ signal: controller.signal, quiet: 50 })
  await vi.waitFor(() => expect(existsSync(target)).toBe(true), { timeout: 60_000, interval: 1 })
  controller.abort()
  await expect(started).rejects.toMatchObject({ name: 'AbortError' })
  expect(existsSync(target)).toBe(false)
  // The thread closes them, and nobody waits for it.
  await vi.waitFor(() => expect(openDescriptors()).toBeLessThanOrEqual(before), {
    timeout: 60_000,
    interval: 5,
  })
})

test.skipIf(!isBuilt)(
  'persistent: false lets the process end, and the next mirror takes over (needs dist)',
  async () => {
    const { source, target, start } = fixture()
    await atomicWrite(source, { a: '1' })
    const child = mirroring(source, target, { persistent: false, interval: 10 })
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
    await (await start()).close()
    expect(existsSync(target)).toBe(false)
  },
)

test('of two mirrors that start at one time on one target not both run', async () => {
  const { start } = fixture()
  for (let round = 0; round < 10; round++) {
    const both = await Promise.allSettled([start(), start()])
    const running = both.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(running.length).toBeLessThan(2)
    for (const each of both)
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'EBUSY' })
    for (const each of running) await each.close()
  }
})

test('a target that another mirror begins to use as soon as it is made has the attributes that it is to have', async () => {
  const { source, target, start } = fixture()
  await chmod(source, 0o750)
  // Held up before it has looked at what it has made.
  const make = vi.spyOn(SyscallThread.prototype, 'mkdir')
  make.mockImplementationOnce(async () => {
    mkdirSync(target, 0o700)
    mkdirSync(join(target, '.inotify-bridge-0123456789ab'), 0o700)
  })
  onTestFinished(() => make.mockRestore())
  await start()
  expect((await stat(target)).mode & 0o7777).toBe(0o750)
})

test('a mirror that starts clears away what a dead one has left as it started', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'key'), 'value')
  const [early, late] = ['0123456789ab', '0123456789ac'].map((at) => join(target, `.inotify-bridge-${at}`))
  for (const staging of [early, late] as string[]) await mkdir(staging, { recursive: true, mode: 0o700 })
  await writeFile(join(late as string, 'lock'), '')
  await chmod(join(late as string, 'lock'), 0o1600)
  await start()
  expect([early, late].filter((path) => existsSync(path as string))).toEqual([])
})

// The other one comes to what is not locked yet.
const TAKEN_FOR_DEAD = [
  'before the lock is there',
  'before it is taken',
  'taking it',
  'killed behind its lock',
] as const
test.each(TAKEN_FOR_DEAD)(
  'a staging directory that another start takes for a dead one is made again: %s',
  async (moment) => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'key'), 'value')
    await mkdir(target)
    const calls = new SyscallThread()
    onTestFinished(() => calls.end())
    await using held = await DirectoryHandle.open(calls, target)
    const { create, lock } = SyscallThread.prototype
    const made = vi.spyOn(SyscallThread.prototype, 'create')
    const locked = vi.spyOn(SyscallThread.prototype, 'lock')
    onTestFinished(() => {
      made.mockRestore()
      locked.mockRestore()
    })
    let clearedAway: string[] = []
    const clear = async () => {
      clearedAway = (await readdir(target)).filter((name) => name.startsWith('.inotify-bridge-'))
      if (moment === 'killed behind its lock') await unlink(join(target, clearedAway[0] ?? '', 'lock'))
      else await removeUnfinished(held)
    }
    if (moment === 'before the lock is there') {
      made.mockImplementationOnce(async function (this: SyscallThread, ...args) {
        await clear()
        return await create.apply(this, args)
      })
    } else {
      locked.mockImplementationOnce(async function (this: SyscallThread, ...args) {
        locked.mockImplementation(lock)
        await clear()
        if (moment === 'taking it') throw new CallError(constants.errno.EAGAIN, 'lock')
        return await lock.apply(this, args)
      })
    }
    const mirror = await start()
    expect(clearedAway).toHaveLength(1)
    const [staging = '', ...others] = (await readdir(target)).filter((name) => name !== 'key')
    expect(others).toEqual([])
    expect(clearedAway).not.toContain(staging)
    expect((await readdir(join(target, staging))).sort()).toEqual(expect.arrayContaining(['ledger', 'lock']))
    await mirror.close()
    expect(await readdir(target)).toEqual([])
  },
)

test('a directory that is replaced while it is read loses no entry in the target', async () => {
  const { source, target, start } = fixture()
  const [sub, next, old] = [join(source, 'sub'), join(source, '../next'), join(source, '../old')]
  for (const path of [sub, next]) {
    await mkdir(path)
    for (const name of ['a', 'b']) await writeFile(join(path, name), path)
  }
  const mirror = await start()
  using inotify = new Inotify()
  inotify.add(join(target, 'sub'), IN_DELETE | IN_CREATE)
  // As `mv sub old; mv next sub; rm -r old` would have it, in the instant between opening and listing.
  const names = vi.spyOn(DirectoryHandle.prototype, 'names')
  names.mockImplementation(async function (this: DirectoryHandle) {
    if ((await realpath(this.path)) === sub && existsSync(next)) {
      renameSync(sub, old)
      renameSync(next, sub)
      rmSync(join(old, 'a'))
    }
    return await readdir(this.path, { encoding: 'buffer' })
  })
  onTestFinished(() => names.mockRestore())
  await mirror.refresh()
  expect(mirror.skipped).toEqual([{ path: 'sub', reason: 'it was replaced while it was read' }])
  await mirror.refresh()
  expect(mirror.skipped).toEqual([])
  expect(await readFile(join(target, 'sub/a'), 'utf8')).toBe(next)
  expect(await eventsSoFar(inotify, join(target, 'sub'))).toEqual([])
})

test('nor does a source that is replaced before anything is removed from the target', async () => {
  const { source, target, start } = fixture()
  for (const name of ['a', 'b']) await writeFile(join(source, name), 'one')
  const mirror = await start({ quiet: 500 })
  using inotify = new Inotify()
  inotify.add(target, IN_DELETE | IN_CREATE)
  await unlink(join(source, 'a'))
  await writeFile(join(source, 'b'), 'two')
  const pass = mirror.refresh()
  // It waits for b to hold still.
  const staging = await stagingIn(target)
  await vi.waitFor(() => expect(existsSync(join(staging, 'work0/0'))).toBe(true), {
    timeout: 60_000,
    interval: 1,
  })
  const next = join(source, '../next')
  await mkdir(next)
  for (const name of ['a', 'b']) await writeFile(join(next, name), 'three')
  await rename(source, join(source, '../old'))
  await rename(next, source)
  await pass
  await mirror.refresh()
  expect(await eventsSoFar(inotify, target)).toEqual([])
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('three')
  expect(await readFile(join(target, 'b'), 'utf8')).toBe('three')
})

test('a file under a lease is tried again later, and nobody waits for the lease to break', async ({
  skip,
}) => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'leased'), '1')
  await writeFile(join(source, 'z'), '1')
  const program = `import fcntl, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = open(sys.argv[1], 'r+')
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()`
  const holder = spawn('python3', ['-c', program, join(source, 'leased')], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const held = await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit'), once(holder, 'error')])
  if (!String(held[0]).startsWith('held')) skip('python3 or leases are not available')
  const mirror = await start()
  expect(mirror.skipped).toMatchObject([{ path: 'leased', reason: expect.stringContaining('EAGAIN') }])
  expect(await readFile(join(target, 'z'), 'utf8')).toBe('1')
  await end(holder)
  await mirror.refresh()
  expect(await readFile(join(target, 'leased'), 'utf8')).toBe('1')
})

test('what fails as a generation is put in place is told once as well', async () => {
  const { source, start } = fixture()
  await atomicWrite(source, { key: 'good' })
  const mirror = await start()
  const { errors } = said(mirror)
  const { rename } = SyscallThread.prototype
  const renaming = vi.spyOn(SyscallThread.prototype, 'rename')
  renaming.mockImplementation(function (this: SyscallThread, from, to, flags) {
    const isGeneration = String(to.name).startsWith('..2')
    return isGeneration
      ? Promise.reject(new CallError(constants.errno.EPERM, 'rename'))
      : rename.call(this, from, to, flags)
  })
  onTestFinished(() => renaming.mockRestore())
  for (const key of ['x', 'y', 'z']) {
    await atomicWrite(source, { key })
    await mirror.refresh()
  }
  expect(errors).toMatchObject([{ code: 'EPERM', path: expect.stringMatching(/\/\.\.2[^/]*$/) }])
})

async function end(child: ChildProcess): Promise<void> {
  child.stdin?.end()
  await once(child, 'exit')
}
