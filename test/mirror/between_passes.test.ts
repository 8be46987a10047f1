// Tricks of others in the moments around a publication.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { mirror } from '../../src/mirror/mirror.ts'
import { Staging } from '../../src/mirror/staging/staging.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { scratch } from '../support/scratch.ts'

const NEVER = 1_000_000

/** Publishes a version as the kubelet does. */
function publish(source: string, version: string, text: string): void {
  mkdirSync(join(source, `..${version}`))
  writeFileSync(join(source, `..${version}`, 'key'), text)
  symlinkSync(`..${version}`, join(source, '..data_tmp'))
  renameSync(join(source, '..data_tmp'), join(source, '..data'))
}

async function mirrored(prepare: (source: string) => void) {
  const [source, target] = [scratch(), join(scratch(), 'target')]
  prepare(source)
  const mirroring = await mirror(source, target, { interval: NEVER })
  onTestFinished(() => mirroring.close())
  mirroring.on('error', () => {})
  return { source, target, mirroring }
}

test('the draft of ..data is taken away: the old version stays until the new one is there', async () => {
  const { source, target, mirroring } = await mirrored((source) => {
    publish(source, '2026_01_01_00_00_00.1', 'one')
    symlinkSync('..data/key', join(source, 'key'))
  })
  const { lstat } = DirectoryHandle.prototype
  const read: string[] = []
  let hasTricked = false
  vi.spyOn(DirectoryHandle.prototype, 'lstat').mockImplementation(async function (
    this: DirectoryHandle,
    name,
  ) {
    if (name === '..data_tmp' && !hasTricked) {
      hasTricked = true
      renameSync(join(target, '..data_tmp'), join(target, 'stolen'))
      symlinkSync('/etc', join(target, '..data_tmp'))
    }
    // Throws ENOENT if the old version has gone.
    if (hasTricked) read.push(readFileSync(join(target, 'key'), 'utf8'))
    return await lstat.call(this, name)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  publish(source, '2026_01_01_00_00_00.2', 'two')
  await expect
    .poll(async () => {
      await mirroring.refresh()
      return readFileSync(join(target, 'key'), 'utf8')
    })
    .toBe('two')
  expect(hasTricked).toBe(true)
  expect(new Set(read)).toEqual(new Set(['one', 'two']))
})

test('a file that is written behind its publication, its times set back, is put right', async () => {
  const { source, target, mirroring } = await mirrored((source) => writeFileSync(join(source, 'key'), 'one!'))
  writeFileSync(join(source, 'key'), 'two!')
  await expect
    .poll(async () => {
      await mirroring.refresh()
      return readFileSync(join(target, 'key'), 'utf8')
    })
    .toBe('two!')
  const [key, times] = [join(target, 'key'), join(scratch(), 'times')]
  execFileSync('touch', ['-r', key, times])
  writeFileSync(key, 'EVIL')
  execFileSync('touch', ['-r', times, key])
  await expect
    .poll(async () => {
      await mirroring.refresh()
      return readFileSync(join(target, 'key'), 'utf8')
    })
    .toBe('two!')
})

test.each([1, 2, 3])('a mirror leaves the directory that another one is making: look %i', async (nth) => {
  const target = scratch()
  const [one, other] = [new SyscallThread(), new SyscallThread()]
  onTestFinished(() => {
    for (const calls of [one, other]) calls.end()
  })
  const [atOne, atOther] = await Promise.all([one, other].map((calls) => DirectoryHandle.open(calls, target)))
  if (atOne === undefined || atOther === undefined) expect.fail('the target is there')
  const { create, hold } = DirectoryHandle.prototype
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let isMade = () => {}
  const made = new Promise<void>((resolve) => {
    isMade = resolve
  })
  let isFirst = true
  // The one has made its directory, and not its lock yet.
  vi.spyOn(DirectoryHandle.prototype, 'create').mockImplementation(async function (
    this: DirectoryHandle,
    name,
    mode,
  ) {
    if (name === 'lock' && isFirst) {
      isFirst = false
      isMade()
      await held
    }
    return await create.call(this, name, mode)
  })
  const opening = Staging.open(atOne, { shown: target, createdTarget: false, only: 'x' })
  // The other one finds no lock there for the nth time. Then the one goes on, before anything is removed.
  let looks = 0
  vi.spyOn(DirectoryHandle.prototype, 'hold').mockImplementation(async function (
    this: DirectoryHandle,
    name,
  ) {
    try {
      return await hold.call(this, name)
    } catch (error) {
      if (name === 'lock' && ++looks === nth) {
        goOn()
        await opening.catch(() => {})
      }
      throw error
    }
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await made
  const second = await Staging.open(atOther, { shown: target, createdTarget: false, only: 'y' })
  goOn()
  const first = await opening
  expect(await first.isThere()).toBe(true)
  for (const name of readdirSync(target))
    expect(readdirSync(join(target, name)).toSorted()).toEqual(['ledger', 'lock'])
  await first.remove()
  await second.remove()
})
