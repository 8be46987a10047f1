import { expect, it } from 'vitest'
import { advise } from '../../src/mounts/advice.ts'
import { recorded } from './fixture.ts'

const limits = {
  maxUserWatches: 1000,
  maxUserInstances: 128,
  maxQueuedEvents: 16384,
  watchesInUse: 0,
  instancesInUse: 0,
}
const ext4 = recorded('wsl2', '/home')

it('is silent when all is well', () => {
  expect(advise([ext4], ext4, 'no', limits)).toEqual([])
})

it('warns before a limit is reached, not at nine tenths of it', () => {
  expect(advise([ext4], ext4, 'no', { ...limits, watchesInUse: 900 })).toEqual([])
  expect(advise([ext4], ext4, 'no', { ...limits, watchesInUse: 901 })).toEqual([
    expect.stringMatching(/max_user_watches is 1000 and 901 are in use.*max_user_watches=2000/),
  ])
  expect(advise([ext4], ext4, 'no', { ...limits, instancesInUse: 128 })).toEqual([
    expect.stringMatching(/max_user_instances is 128 and 128 are in use/),
  ])
})

it('says nothing of a limit that cannot be read', () => {
  const unread = { ...limits, maxUserWatches: Number.NaN, watchesInUse: 5 }
  expect(advise([ext4], ext4, 'no', unread)).toEqual([])
})

it('gives each piece of advice once for several mounts', () => {
  const [c, d] = [recorded('wsl2', '/mnt/c'), recorded('wsl2', '/mnt/d')]
  const found = advise([c, d], d, 'no', limits)
  expect(found).toEqual([
    expect.stringContaining('polls /mnt/c (9p) by itself, and so reports all changes'),
    expect.stringContaining('inotify-bridge mirror SOURCE TARGET'),
    expect.stringContaining('polls /mnt/d (9p)'),
  ])
})

it("offers backend: 'poll' for an overlay, and no mirror", () => {
  const root = recorded('docker', '/')
  expect(advise([root], root, 'no', limits)).toEqual([expect.stringContaining("backend: 'poll'")])
})

it('has nothing to advise on a read-only filesystem', () => {
  const snap = { ...ext4, type: 'squashfs' }
  expect(advise([snap], snap, 'no', limits)).toEqual([])
})

it('does not send anyone to mirror /proc, but to compare contents', () => {
  const proc = recorded('docker', '/proc')
  expect(advise([proc], proc, 'no', limits)).toEqual([expect.stringContaining('at intervals')])
})
