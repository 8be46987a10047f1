// Limits of a user namespace, as rootless containers have: see user_namespace.mjs.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))
const SET = ': > /proc/sys/user/max_inotify_watches'
const mayUnshare = spawnSync('unshare', ['-U', '-r', 'sh', '-c', SET]).status === 0

function said(watches: number, instances: number) {
  const program = join(import.meta.dirname, 'user_namespace.mjs')
  const words = ['-U', '-r', process.execPath, program, scratch(), `${watches}`, `${instances}`]
  return JSON.parse(execFileSync('unshare', words, { encoding: 'utf8', timeout: 60_000 }))
}

/** The name and value of a limit, and what raises it. */
const named = (sysctl: string, limit: number) =>
  expect.stringMatching(RegExp(`${sysctl} is ${limit}\\b.*'sysctl -w ${sysctl}=128' as root of this user`))

describe.skipIf(!isBuilt || !mayUnshare)(
  'what counts in a user namespace is named (needs dist and unshare -U -r)',
  () => {
    test.each([
      [10, 4],
      [1, 2],
    ])('%i watches, %i instances', (watches, instances) => {
      const [ofWatches, ofInstances] = ['user.max_inotify_watches', 'user.max_inotify_instances'] as const
      expect(said(watches, instances)).toMatchObject({
        ENOSPC: named(ofWatches, watches),
        EMFILE: named(ofInstances, instances),
        limits: {
          maxUserWatches: watches,
          watchesLimitedBy: ofWatches,
          maxUserInstances: instances,
          instancesLimitedBy: ofInstances,
        },
        // The number of instances in use may be up to a second old.
        advice: expect.arrayContaining([named(ofWatches, watches)]),
      })
    })

    test('no instance is allowed: the tree is polled', () => {
      const hint = named('user.max_inotify_instances', 0)
      expect(said(10, 0)).toMatchObject({ EMFILE: hint, advice: [hint] })
    })
  },
)
