import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Listing } from '../../../src/watch/scan/listing.ts'
import { Walker } from '../../../src/watch/scan/walker.ts'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { story, watching } from '../support.ts'

/** As if reading it had ended at once. */
function failed(listing: Listing, error: number): Listing {
  const none = () => new Map()
  const instead: Partial<Record<string | symbol, unknown>> = { error, entries: none, subdirectories: none }
  return new Proxy(listing, {
    get: (whole, key) => {
      const value = instead[key] ?? Reflect.get(whole, key, whole)
      return typeof value === 'function' ? value.bind(whole) : value
    },
  })
}

test.each(['EIO', 'ENOTCONN', 'ETIMEDOUT'] as const)(
  '%s of a directory is told once, and what lies in it when it can be read again, of which no event tells',
  async (code) => {
    const root = scratch()
    const { watcher, changes } = await watching(root, { recursive: true, backend: 'inotify' })
    const errors: unknown[] = []
    watcher.on('error', (error) => errors.push(error))
    let failures = 0
    let isBroken = true
    const walk = Walker.prototype.walk
    const spy = vi.spyOn(Walker.prototype, 'walk').mockImplementation(function (
      this: Walker,
      requests,
      take,
      ...rest
    ) {
      const unread = new Set<number>()
      return walk.call(
        this,
        requests,
        (listing) => {
          // Nothing is found below what cannot be read.
          if (unread.has(listing.parent ?? -1)) return void unread.add(listing.id)
          const isIt = isBroken && (listing.name === 'b' || requests[listing.id]?.rel === 'a/b')
          if (isIt) {
            failures++
            unread.add(listing.id)
          }
          take(isIt ? failed(listing, -constants.errno[code]) : listing)
        },
        ...rest,
      )
    })
    onTestFinished(() => spy.mockRestore())
    mkdirSync(join(root, 'a/b/c'), { recursive: true })
    writeFileSync(join(root, 'a/b/c/file'), '')
    await expect.poll(() => failures).toBeGreaterThan(2)
    const path = join(root, 'a/b')
    expect(errors).toMatchObject([{ code, path }])
    expect(watcher.coverage()[0]?.uncovered).toMatchObject([{ path, error: { code } }])
    isBroken = false
    await expect.poll(() => story(changes, root)).toContain('create file a/b/c/file')
    expect(watcher.coverage()[0]?.uncovered).toEqual([])
    expect(errors).toHaveLength(1)
  },
)

test('what a server takes long to refuse is asked for rarely: others are not to wait for it', async () => {
  const root = scratch()
  const { watcher } = await watching(root, { recursive: true, backend: 'inotify' })
  watcher.on('error', () => {})
  const SLOW_MS = 200
  const tries: number[] = []
  const walk = Walker.prototype.walk
  const spy = vi.spyOn(Walker.prototype, 'walk').mockImplementation(async function (
    this: Walker,
    requests,
    take,
    ...rest
  ) {
    let isAsked = false
    await walk.call(
      this,
      requests,
      (listing) => {
        const isIt = listing.name === 'slow' || requests[listing.id]?.rel === 'slow'
        isAsked ||= isIt
        take(isIt ? failed(listing, -constants.errno.ETIMEDOUT) : listing)
      },
      ...rest,
    )
    if (!isAsked) return
    await sleep(SLOW_MS)
    tries.push(performance.now())
  })
  onTestFinished(() => spy.mockRestore())
  mkdirSync(join(root, 'slow'))
  // The first comes as soon as ever.
  const rests = () => tries.slice(1).map((at, index) => at - (tries[index] ?? 0))
  await expect.poll(() => rests().some((ms) => ms > 10 * SLOW_MS)).toBe(true)
  expect(tries.length).toBeLessThan(5)
})

describe.skipIf(!mayUnshare)(
  'a FUSE server that cannot give its directories (needs unshare -rm and dist)',
  () => {
    test.each(['inotify', 'auto', 'poll'])('by %s: all is told and covered when it can', async (backend) => {
      const program = [process.execPath, join(import.meta.dirname, 'failing_server.mjs'), scratch(), backend]
      const { stdout } = await promisify(execFile)('unshare', ['-rm', ...program], { timeout: 120_000 })
      expect(JSON.parse(stdout)).toEqual({ broken: { told: 20, uncovered: 20 }, told: 40 })
    })
  },
)
