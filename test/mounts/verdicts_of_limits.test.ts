// Verdicts of diagnose() when inotify's limits are reached.
import { describe, expect, test } from 'vitest'
import { examine } from '../../src/mounts/diagnosis/examine.ts'
import { imagine } from './imagined.ts'

describe('limits', () => {
  const holders = [{ pid: 77, name: 'node', instances: 2, watches: 900 }]
  const of = (limits: object) =>
    examine('/srv/x', imagine('server', { files: { '/srv/x': 'file' }, limits, holders }))

  test('inotify is refused to this process: no watcher works, why, and what to allow', async () => {
    const refusal = 'inotify_init1(2) is refused to this process (EPERM), by somebody'
    const { verdict, diagnosis } = await examine(
      '/srv/x',
      imagine('server', { files: { '/srv/x': 'file' }, refusal }),
    )
    expect(verdict).toEqual({
      level: 'bad',
      text: expect.stringMatching(/^No watcher .* works in this process/),
    })
    expect(diagnosis.reasons).toContain(`${refusal}.`)
    expect(diagnosis.advice[0]).toMatch(/^Allow inotify_init1\(2\) and inotify_add_watch\(2\)/)
  })

  test('the path may not be read: no watcher of this user works, and what to allow', async () => {
    const { verdict, diagnosis } = await examine(
      '/srv/x',
      imagine('server', { files: { '/srv/x': 'file' }, mayRead: false }),
    )
    expect(verdict).toEqual({
      level: 'bad',
      text: expect.stringMatching(/^No watcher of this user works here/),
    })
    expect(diagnosis.advice[0]).toMatch(/^Let uid \d+ read \/srv\/x, or/)
  })

  test('all watches are used up: nothing new works, and who holds most', async () => {
    const { verdict, diagnosis } = await of({ watchesInUse: 1000 })
    expect(verdict).toEqual({
      level: 'bad',
      text: expect.stringMatching(
        /^No new watcher works for this user: 1000 of 1000 inotify watches are in use\. Events arrive/,
      ),
    })
    expect(diagnosis.advice).toEqual([
      expect.stringMatching(
        /max_user_watches is 1000 and 1000 are in use; node \(pid 77\) has most: 900 watches, 2 instances.*max_user_watches=2000/,
      ),
    ])
  })

  test('all instances are used up', async () => {
    const { verdict, diagnosis } = await of({ instancesInUse: 128 })
    expect(verdict.text).toMatch(/128 of 128 inotify instances/)
    expect(diagnosis.advice[0]).toMatch(/max_user_instances=256/)
  })

  test('nearly used up is advised of, not judged', async () => {
    expect((await of({ watchesInUse: 900 })).diagnosis.advice).toEqual([])
    const { verdict, diagnosis } = await of({ watchesInUse: 901 })
    expect(verdict.level).toBe('good')
    expect(diagnosis.advice).toEqual([expect.stringMatching(/901 are in use/)])
  })

  test('a queue that is smaller than usual overflows', async () => {
    const { diagnosis } = await of({ maxQueuedEvents: 256 })
    expect(diagnosis.advice).toEqual([
      expect.stringMatching(/max_queued_events is 256.*IN_Q_OVERFLOW.*max_queued_events=16384/),
    ])
  })

  test('one that /proc does not tell is not judged', async () => {
    const unknown = { maxUserWatches: Number.NaN, maxUserInstances: Number.NaN, maxQueuedEvents: Number.NaN }
    const { verdict, diagnosis } = await of(unknown)
    expect([verdict.level, diagnosis.advice]).toEqual(['good', []])
  })
})
