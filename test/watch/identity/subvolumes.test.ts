// Links between btrfs subvolumes: see subvolumes.mjs.
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { isBuilt } from '../child.ts'

const mayMount =
  process.getuid?.() === 0 &&
  spawnSync('mkfs.btrfs', ['--version']).status === 0 &&
  spawnSync('unshare', ['-m', 'sh', '-c', 'losetup -f']).status === 0

describe.skipIf(!mayMount || !isBuilt)('subvolumes (needs root, btrfs-progs, a loop device and dist)', () => {
  test.for(['auto', 'poll'])('a link from one to another is no circle: %s', (backend, { skip }) => {
    const program = join(import.meta.dirname, 'subvolumes.mjs')
    const output = execFileSync('unshare', ['-m', process.execPath, program, scratch(), backend], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    const rounds = JSON.parse(output)
    if (rounds.unable !== undefined) skip(`cannot be mounted here: ${rounds.unable}`)
    // Links that are there at the start, and links that are made later.
    expect(rounds).toHaveLength(2)
    for (const { links, written, led, holds, behind } of rounds) {
      expect(links).toEqual(['directory', 'directory', 'directory', 'symlink', 'symlink'])
      expect(written).toEqual(['modify /root/one/outside/d/f'])
      // The numbers in there, and the times of the directories, are those of the subvolume that it led to before.
      expect(led.at(-1)).toMatch(/^(create|modify) \/root\/one\/outside\/d\/f$/)
      expect(holds).toBe(2)
      expect(behind).toEqual(['modify /root/one/outside/d/f'])
    }
  })
})
