// Secrets are copied: what an attacker who may write in the source must not get by it, nor one who may look at the target.
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, renameSync, statSync, symlinkSync, unlinkSync } from 'node:fs'
import {
  chmod,
  chown,
  copyFile,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { IN_OPEN } from '../../src/inotify/constants.ts'
import { Inotify } from '../../src/inotify/inotify.ts'
import { mirror } from '../../src/mirror/mirror.ts'
import { StatProbes } from '../../src/mirror/source/rest.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { eventsSoFar } from '../support/events.ts'
import { AS_NOBODY, isRoot, NOBODY } from '../support/others.ts'
import { directory, fixture, QUICK } from './fixture.ts'
import { stagingIn } from './names.ts'
import { said } from './said.ts'

/** Runs `meanwhile` once, right before the mirror opens the entry `name` for the n-th time as a file or as a directory. */
function before(kind: 'file' | 'directory', name: string, n: number, meanwhile: () => void): void {
  const original: (name: string | Buffer, most?: number) => Promise<unknown> = DirectoryHandle.prototype[kind]
  let opened = 0
  const spy = vi.spyOn(DirectoryHandle.prototype, kind)
  spy.mockImplementation(async function (
    this: DirectoryHandle,
    entry: string | Buffer,
    most?: number,
  ): Promise<never> {
    if (entry === name && ++opened === n) meanwhile()
    // The original resolves to the kind that was asked for.
    return (await original.call(this, entry, most)) as never
  })
  onTestFinished(() => spy.mockRestore())
}

/** A directory outside of any source, with a file that must not be copied. */
async function secretDirectory(): Promise<string> {
  const outside = directory()
  await writeFile(join(outside, 'key'), 'secret')
  return outside
}

// openat2(2), RESOLVE_BENEATH: CVE-2017-1002101 and CVE-2021-25741 were this race.
test('a directory that becomes a symlink between scan and copy leads nowhere', async () => {
  const { source, target, start } = fixture()
  const outside = await secretDirectory()
  const sub = join(source, 'sub')
  await mkdir(sub)
  await writeFile(join(sub, 'key'), 'public')
  const placing = vi.spyOn(StatProbes, 'place')
  onTestFinished(() => placing.mockRestore())
  const mirror = await start()
  // Which opens the directories as well.
  await expect.poll(() => placing.mock.results.length).toBe(1)
  await placing.mock.results[0]?.value
  await writeFile(join(sub, 'key'), 'PUBLIC')
  const swapped = vi.fn(() => {
    renameSync(sub, join(source, '../away'))
    symlinkSync(outside, sub)
  })
  // The scan is the first to open it, the copy the second.
  before('directory', 'sub', 2, swapped)
  await mirror.refresh()
  expect(swapped).toHaveBeenCalledTimes(1)
  expect(await readFile(join(target, 'sub/key'), 'utf8')).toBe('public')
  expect(mirror.skipped).toMatchObject([{ path: 'sub', reason: expect.stringMatching(/ELOOP|ENOTDIR/) }])
  await mirror.refresh()
  expect(mirror.skipped).toEqual([{ path: 'sub', reason: `links outside the source: ${outside}` }])
  expect(await readdir(target)).not.toContain('sub')
})

test('nor does a file that becomes one', async () => {
  const { source, target, start } = fixture()
  const outside = await secretDirectory()
  await writeFile(join(source, 'key'), 'public')
  const mirror = await start()
  await writeFile(join(source, 'key'), 'PUBLIC')
  const swapped = vi.fn(() => {
    unlinkSync(join(source, 'key'))
    symlinkSync(join(outside, 'key'), join(source, 'key'))
  })
  before('file', 'key', 1, swapped)
  await mirror.refresh()
  expect(swapped).toHaveBeenCalledTimes(1)
  expect(await readFile(join(target, 'key'), 'utf8')).toBe('public')
})

test('a file that becomes a FIFO is not opened, let alone waited for', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'key'), 'public')
  const mirror = await start()
  await writeFile(join(source, 'key'), 'PUBLIC')
  using inotify = new Inotify()
  inotify.add(source, IN_OPEN)
  const swapped = vi.fn(() => {
    unlinkSync(join(source, 'key'))
    execFileSync('mkfifo', [join(source, 'key')])
  })
  before('file', 'key', 1, swapped)
  await mirror.refresh()
  await mirror.refresh()
  expect(swapped).toHaveBeenCalledTimes(1)
  const opened = (await eventsSoFar(inotify, source)).filter(({ name }) => name === 'key')
  expect(opened, 'O_PATH is no IN_OPEN').toEqual([])
  expect(mirror.skipped).toEqual([{ path: 'key', reason: 'a FIFO, not a file, directory or symlink' }])
  expect(await readdir(target)).not.toContain('key')
})

test('of a file that grows as fast as it is read no more is read than it was said to have', async () => {
  const { source, target, start } = fixture()
  const path = join(source, 'key')
  const mirror = await start({ limits: { files: 1, bytes: 1_000_000 } })
  await writeFile(path, 'x'.repeat(900_000))
  const { read } = SyscallThread.prototype
  let bytes = 0
  const reading = vi.spyOn(SyscallThread.prototype, 'read')
  reading.mockImplementation(async function (this: SyscallThread, fd: number, most: number) {
    appendFileSync(path, 'x'.repeat(300_000))
    const chunk = await read.call(this, fd, most)
    bytes += chunk.length
    return chunk
  })
  onTestFinished(() => reading.mockRestore())
  await mirror.refresh()
  expect(bytes).toBeGreaterThan(0)
  expect(bytes).toBeLessThanOrEqual(900_001)
  expect(mirror.skipped).toMatchObject([{ path: 'key', reason: expect.stringContaining('held still') }])
  expect(await readdir(target)).not.toContain('key')
  await mirror.refresh()
  expect(mirror.state).toBe('over-limit')
})

test('until it is published nobody else can open a copy, whatever the umask', async () => {
  const { source, target, start } = fixture()
  const umask = process.umask(0)
  onTestFinished(() => void process.umask(umask))
  const mirror = await start()
  /** Modes of the copy and of the directory that it is in, at each of the calls that make it. */
  const seen: string[] = []
  const look = async () => {
    const staging = await stagingIn(target)
    const work = join(staging, 'work0')
    for (const name of await readdir(work)) {
      const [file, held] = [statSync(join(work, name)), statSync(work)]
      seen.push(`${(file.mode & 0o7777).toString(8)} in ${(held.mode & 0o7777).toString(8)}`)
      if (!isRoot) continue
      const nobody = [...AS_NOBODY, 'cat', join(work, name)]
      expect(spawnSync('setpriv', nobody).status).not.toBe(0)
    }
  }
  for (const call of ['write', 'chmod'] as const) {
    const original = SyscallThread.prototype[call] as (
      this: SyscallThread,
      fd: number,
      what: never,
    ) => Promise<void>
    const spy = vi.spyOn(SyscallThread.prototype, call)
    spy.mockImplementation(async function (this: SyscallThread, fd: number, what: unknown) {
      await look()
      await original.call(this, fd, what as never)
      await look()
    })
    onTestFinished(() => spy.mockRestore())
  }
  await writeFile(join(source, 'key'), 'secret')
  await chmod(join(source, 'key'), 0o640)
  await mirror.refresh()
  // The mirror asks for write and chmod at once, so looks fall in between. It writes down the names later, before the rename.
  expect(seen[0]).toBe('600 in 700')
  expect(seen.toSorted()).toEqual(seen)
  expect(new Set(seen)).toEqual(new Set(['600 in 700', '640 in 700']))
  expect((await stat(join(target, 'key'))).mode & 0o7777).toBe(0o640)
})

test('no mode is wider than that of the source, whatever the umask', async () => {
  const { source, target, start } = fixture()
  const umask = process.umask(0)
  onTestFinished(() => void process.umask(umask))
  const modes = [0o400, 0o600, 0o640, 0o644, 0o700, 0o750, 0o755]
  for (const mode of modes) {
    await writeFile(join(source, `f${mode}`), '')
    await mkdir(join(source, `d${mode | 0o700}`), { recursive: true })
    await chmod(join(source, `f${mode}`), mode)
    await chmod(join(source, `d${mode | 0o700}`), mode | 0o700)
  }
  await start()
  for (const name of await readdir(source)) {
    const [has, had] = [await stat(join(target, name)), await stat(join(source, name))]
    expect(has.mode, name).toBe(had.mode)
  }
})

test('a target that the mirror makes is open to no more people than each source is', async () => {
  const { source, target, start } = fixture()
  const umask = process.umask(0)
  onTestFinished(() => void process.umask(umask))
  for (const [mode, expected] of [
    [0o700, 0o700],
    [0o750, 0o750],
    [0o711, 0o711],
    [0o1777, 0o755],
  ] as const) {
    await chmod(source, mode)
    await (await start()).close({ keep: true })
    expect(((await stat(target)).mode & 0o7777).toString(8)).toBe(expected.toString(8))
    await rm(target, { recursive: true })
  }
  const other = directory()
  await chmod(source, 0o750)
  await chmod(other, 0o705)
  await (await mirror([source, other], target, QUICK)).close({ keep: true })
  expect((await stat(target)).mode & 0o7777).toBe(0o700)
  if (!isRoot) return
  await rm(target, { recursive: true })
  await chown(source, 1234, 4321)
  await (await start()).close({ keep: true })
  expect(await stat(target)).toMatchObject({ uid: 1234, gid: 4321, mode: 0o40750 })
})

test('a copy whose group cannot be kept gives another group no more than others have (needs dist)', async ({
  skip,
}) => {
  const { source } = fixture()
  const target = join(directory('/dev/shm'), 'target')
  if (!isRoot) skip('needs root')
  const main = join(import.meta.dirname, '../../dist/cli.js')
  const nobody = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--groups=1234']
  if (spawnSync('setpriv', [...nobody, 'test', '-r', main]).status !== 0)
    skip('needs dist, and a checkout that every user can read')
  for (const [name, mode, gid, expected] of [
    // As a member of the group the mirror may give it to the copy.
    ['member', 0o640, 1234, 0o640],
    ['other', 0o664, 4321, 0o644],
    ['same', 0o664, NOBODY, 0o664],
  ] as const) {
    await writeFile(join(source, name), name)
    await chown(join(source, name), 0, gid)
    await chmod(join(source, name), mode)
    await mkdir(join(target, '..'), { recursive: true })
    await chmod(join(target, '..'), 0o777)
    await chmod(join(source, '..'), 0o755)
    const run = spawnSync(
      'setpriv',
      [...nobody, process.execPath, main, 'mirror', '--once', source, target],
      {
        encoding: 'utf8',
      },
    )
    expect(run.stderr).toBe('')
    expect((await stat(join(target, name))).mode & 0o7777, name).toBe(expected)
    expect((await stat(join(target, name))).gid, name).toBe(gid === 4321 ? NOBODY : gid)
  }
})

test('no program with the rights of its owner comes into the target: its mount may not be nosuid', async () => {
  const { source, target, start } = fixture()
  await copyFile('/bin/true', join(source, 'program'))
  await chmod(join(source, 'program'), 0o6755)
  const mirror = await start()
  expect((await stat(join(target, 'program'))).mode & 0o7777).toBe(0o755)
  mirror.on('update', () => expect.unreachable('nothing has changed'))
  await mirror.refresh()
})

test('links lead out of the target by no way', async () => {
  const { source, target, start } = fixture()
  const outside = await secretDirectory()
  await mkdir(join(source, 'sub/deep'), { recursive: true })
  await writeFile(join(source, 'file'), 'public')
  const links = {
    // As they are, also where they lead nowhere.
    inside: ['file', 'file'],
    dangling: ['sub/missing', 'sub/missing'],
    'sub/up': ['../file', '../file'],
    'sub/deep/up': ['../../file', '../../file'],
    // Relative from where they are.
    absolute: [join(source, 'file'), 'file'],
    'sub/absolute': [join(source, 'file'), '../file'],
    // Not at all.
    outside: [join(outside, 'key'), undefined],
    above: ['..', undefined],
    'sub/above': ['../../x', undefined],
    named: ['sub/../../x', undefined],
    dotted: [join(source, 'sub/../../x'), undefined],
    // A chain whose last link is not there.
    first: ['second', 'second'],
    second: [outside, undefined],
    through: ['second/key', 'second/key'],
    // A link could replace `sub/deep`, and `..` would then lead anywhere.
    behind: ['sub/deep/../../file', undefined],
  } as const
  for (const [name, [to]] of Object.entries(links)) await symlink(to, join(source, name))
  const mirror = await start()
  for (const [name, [, to]] of Object.entries(links)) {
    const has = await readlink(join(target, name)).catch(() => undefined)
    expect(has, name).toBe(to)
    const leads = await realpath(join(target, name)).catch(() => target)
    expect(`${leads}/`.startsWith(`${await realpath(target)}/`), name).toBe(true)
  }
  const refused = Object.entries(links).filter(([, [, to]]) => to === undefined)
  expect(mirror.skipped.map(({ path }) => path).sort()).toEqual(refused.map(([name]) => name).sort())
  for (const { path, reason } of mirror.skipped)
    expect(reason).toBe(`links outside the source: ${await readlink(join(source, path))}`)
  const { updates } = said(mirror)
  await mirror.refresh()
  expect(updates).toEqual([])
})
