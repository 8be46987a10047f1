// On a mount that delivers no events: see silent.mjs.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/chokidar.js'))
const mayMount =
  process.getuid?.() === 0 &&
  spawnSync('bindfs', ['--version']).status === 0 &&
  spawnSync('unshare', ['-m', 'sh', '-c', ': </dev/fuse']).status === 0

test.skipIf(!mayMount || !isBuilt)(
  'what is changed behind a FUSE mount is told by inotify-bridge/chokidar, and not by chokidar (needs root, bindfs and dist)',
  () => {
    const program = [process.execPath, join(import.meta.dirname, 'silent.mjs'), scratch()]
    const { told, theirs } = JSON.parse(
      execFileSync('unshare', ['-m', ...program], { encoding: 'utf8', timeout: 60_000 }),
    )
    expect(told.sort()).toEqual(['add d/new/h', 'addDir d/new', 'change f', 'unlink d/g'])
    expect(theirs).toEqual([])
  },
)
