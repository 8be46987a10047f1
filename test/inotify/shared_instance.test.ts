import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { IN_CREATE, IN_IGNORED, IN_MASK_ADD, IN_ONLYDIR, IN_Q_OVERFLOW } from '../../src/index.ts'
import { watchesIn } from '../../src/inotify/fdinfo.ts'
import { barrier, nativeQueue } from '../../src/inotify/inotify.ts'
import { type InotifyShare, openShare } from '../../src/inotify/shared_instance.ts'
import { openInstances } from '../support/descriptors.ts'
import { scratch } from '../support/scratch.ts'

const MASK = IN_CREATE | IN_ONLYDIR | IN_MASK_ADD

/** A share and its owner, which knows the watches that it has added, and reads all that the share gives. */
class User {
  readonly wds = new Set<number>()
  isBusy = false
  readonly share: InotifyShare
  /** The names of new entries, 'overflow', and marks as numbers. */
  readonly told: string[] = []

  constructor(reads = true) {
    this.share = openShare(this)
    onTestFinished(() => this.share.close())
    if (reads) void this.read()
  }

  has(wd: number): boolean {
    return this.wds.has(wd)
  }

  add(directory: string): number {
    const wd = this.share.add(directory, MASK)
    this.wds.add(wd)
    return wd
  }

  remove(wd: number): void {
    this.wds.delete(wd)
    this.share.remove(wd)
  }

  async read(): Promise<void> {
    for await (const batch of this.share)
      for (const { wd, mask, name } of batch)
        if (mask & IN_Q_OVERFLOW) this.told.push('overflow')
        else if (!(mask & IN_IGNORED)) this.told.push(name)
        else if (wd < 0) this.told.push(`${wd}`)
  }

  /** Resolves when the user has been told of all that was queued before the call. */
  async catchUp(): Promise<void> {
    const mark = this.share[barrier]()
    this.wds.add(mark)
    await vi.waitFor(() => expect(this.told).toContain(`${mark}`), { interval: 1, timeout: 60_000 })
    this.told.splice(this.told.indexOf(`${mark}`), 1)
  }

  get kernelWatches(): number[] {
    return watchesIn(readFileSync(`/proc/self/fdinfo/${this.share[nativeQueue].fd()}`, 'latin1'))
  }
}

test('shares have one instance; each is told of its own watches, and while busy of all', async () => {
  const base = scratch()
  for (const name of ['a', 'b', 'both']) await mkdir(join(base, name))
  const [one, other, busy] = [new User(), new User(), new User()]
  expect(openInstances()).toBe(1)
  busy.isBusy = true
  one.add(join(base, 'a'))
  other.add(join(base, 'b'))
  for (const user of [one, other]) user.add(join(base, 'both'))
  for (const [path, users] of Object.entries({ 'a/1': [one], 'b/2': [other], 'both/3': [one, other] })) {
    writeFileSync(join(base, path), '')
    for (const { told } of [...users, busy])
      await vi.waitFor(() => expect(told).toContain(basename(path)), 60_000)
  }
  expect(one.told).toEqual(['1', '3'])
  expect(other.told).toEqual(['2', '3'])
  expect(busy.told).toEqual(['1', '2', '3'])
})

test('a watch that another share needs, or may need, stays', async () => {
  const directory = scratch()
  const [one, other] = [new User(), new User()]
  const wd = one.add(directory)
  other.add(directory)
  one.remove(wd)
  expect(one.kernelWatches).toEqual([wd])
  other.isBusy = true
  other.wds.delete(wd)
  one.add(directory)
  one.remove(wd)
  expect(one.kernelWatches).toEqual([wd])
  other.isBusy = false
  await vi.waitFor(() => expect(one.kernelWatches).toEqual([]), { timeout: 60_000 })
})

test('the watches of a share that has ended are removed, thousands in several turns', async () => {
  const base = scratch()
  const [one, other] = [new User(), new User()]
  const kept = other.add(base)
  for (let i = 0; i < 2500; i++) {
    await mkdir(join(base, `${i}`))
    one.add(join(base, `${i}`))
  }
  await one.share.close()
  expect(other.kernelWatches).toEqual([kept])
})

test('a share that is not read holds nobody up: it has an overflow, and is told what comes when it reads again', async () => {
  const directory = scratch()
  const [slow, other] = [new User(false), new User()]
  for (const user of [slow, other]) user.add(directory)
  const names = Array.from({ length: 1100 }, (_, i) => `${i}`)
  for (const name of names) {
    writeFileSync(join(directory, name), '')
    // One batch each.
    while (!other.told.includes(name)) await setImmediate()
  }
  // A mark that comes while events are lost is given: sync() waits for it.
  const mark = slow.share[barrier]()
  slow.wds.add(mark)
  await other.catchUp()
  void slow.read()
  await vi.waitFor(() => expect(slow.told.at(-1)).toBe(`${mark}`), 60_000)
  expect(slow.told).toEqual([...names.slice(0, 1024), 'overflow', `${mark}`])
  writeFileSync(join(directory, 'more'), '')
  await slow.catchUp()
  expect(slow.told.at(-1)).toBe('more')
})

test('a share that has ended watches nothing more; the last one closes the instance', () => {
  const [one, other] = [new User(), new User()]
  one.share.close()
  expect(() => one.share.add('/', MASK)).toThrow('EBADF')
  expect(() => one.share[nativeQueue]).toThrow('EBADF')
  expect(() => one.share[barrier]()).toThrow('EBADF')
  expect(openInstances()).toBe(1)
  other.share.close()
  expect(openInstances()).toBe(0)
  expect(new User().add('/')).toBeGreaterThan(0)
})
