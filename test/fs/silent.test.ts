// fs.watch() on a mount that delivers no events: see silent.mjs.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/fs.js'))
const mayMount =
  process.getuid?.() === 0 &&
  spawnSync('bindfs', ['--version']).status === 0 &&
  spawnSync('unshare', ['-m', 'sh', '-c', ': </dev/fuse']).status === 0

test.skipIf(!mayMount || !isBuilt)(
  'what is changed behind a FUSE mount is told by inotify-bridge/fs, and not by node:fs (needs root, bindfs and dist)',
  () => {
    const program = [process.execPath, join(import.meta.dirname, 'silent.mjs'), scratch()]
    const said = JSON.parse(
      execFileSync('unshare', ['-m', ...program], { encoding: 'utf8', timeout: 60_000 }),
    )
    expect(said.node).toEqual([])
    expect(said.flat).toContain('rename new')
    expect(said.tree).toContain('rename d/deep')
    // A poll may find the file empty, before it is written, but under no other name.
    expect(said.file).toEqual(['change f'])
  },
)
