// A root without /proc, as of a chroot or a sandbox: either nothing is mounted there, or something else is.
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

const DIST = join(import.meta.dirname, '../../dist')
const HOW = {
  unmounted: 'mount --make-rprivate / && umount -l /proc',
  'a tmpfs': 'mount -t tmpfs none /proc',
}
const may = Object.values(HOW).every((how) => spawnSync('unshare', ['-m', 'sh', '-c', how]).status === 0)

const run = (how: string, directory: string, ...program: string[]) =>
  promisify(execFile)(
    'unshare',
    ['-m', 'sh', '-c', `${how} && exec "$@"`, 'sh', process.execPath, ...program],
    {
      cwd: directory,
      timeout: 60_000,
    },
  )
const NAMED = /open '\/proc\/self\/fd' \(procfs is not mounted at \/proc in this root/

describe.skipIf(!existsSync(DIST) || !may)('without /proc (needs dist and unshare -m)', () => {
  test.each(Object.entries(HOW))('%s: what watches works, and all else names it', async (_, how) => {
    const directory = scratch()
    const { stdout } = await run(how, directory, join(import.meta.dirname, 'refused.mjs'), directory)
    const said = JSON.parse(stdout)
    const named = expect.stringMatching(NAMED)
    const told = { told: expect.any(String), errors: [] }
    expect(said).toMatchObject({
      'auto: a tree': told,
      'auto: a file to come': told,
      'poll: a file': told,
      'fs: d, recursive': ['change', 'f'],
      chokidar: '/d/f',
      parcel: ['update'],
      mirror: named,
      reload: named,
      publishing: named,
      save: named,
      diagnose: { text: expect.stringContaining('delivered') },
    })
  })

  test.each([
    ['mirror', '--once', 'source', 'target'],
    ['publish', 'source/a', 'published/a'],
    ['publish', '--configmap', 'source/a', 'made'],
    ['reload', '--once', 'source', '--', 'true'],
  ])('the command names it, and makes nothing: %s %s', async (...words) => {
    const directory = scratch()
    for (const name of ['source', 'published']) mkdirSync(join(directory, name))
    writeFileSync(join(directory, 'source/a'), 'one')
    const failed = await run(HOW['a tmpfs'], directory, join(DIST, 'cli.js'), ...words).catch(
      (error) => error,
    )
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(NAMED) })
    expect(failed.stderr.trim().split('\n')).toHaveLength(1)
    expect(readdirSync(directory, { recursive: true }).sort()).toEqual(['published', 'source', 'source/a'])
  })
})
