import { spawnSync } from 'node:child_process'
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'

const FILES = 10_000
/** Other processes may hold up some of them. */
const RUNS = 3

// Varied: how many lie in a directory, and what they are.
test.each([
  ['in one directory', FILES, 'text'],
  ['of 8 KB in directories of 100', 100, 'text'.repeat(2048)],
] as const)(
  'a reload of 10,000 files takes at most three times as long as to read them, and half a second: %s',
  (_, each, text) => {
    const directory = scratch('/dev/shm')
    for (let n = 0; n < FILES; n++) {
      const below = join(directory, `${Math.floor(n / each)}`)
      if (n % each === 0) mkdirSync(below)
      writeFileSync(join(below, `${n}`), text)
    }
    linkSync(join(directory, '0/0'), join(directory, 'again'))
    symlinkSync('0/0', join(directory, 'link'))
    const program = join(import.meta.dirname, 'many_files.mjs')
    const { stdout, stderr } = spawnSync(process.execPath, [program, directory, `${RUNS}`], {
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    const runs: { plain: number; took: number; changed: string[] }[] = JSON.parse(stdout)
    expect(runs.map(({ changed }) => changed)).toEqual(Array(RUNS).fill(['0/0', 'again', 'link']))
    expect(Math.min(...runs.map(({ plain, took }) => took - 3 * plain)), stdout).toBeLessThan(500)
  },
)
