// Names that are the same in any case: see any_case.mjs.
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { isBuilt } from '../child.ts'

const isThere = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
const mayMount =
  process.getuid?.() === 0 &&
  isThere('mkntfs') &&
  isThere('lowntfs-3g') &&
  spawnSync('unshare', ['-m', 'sh', '-c', 'losetup -f && : </dev/fuse']).status === 0

interface Told {
  steps: Record<string, string[]>
  believed: string[]
  there: string[]
}

/** The changes have the stored names, whatever names the writer has used. */
const BY_ANY_SOURCE = {
  written: ['modify file.txt'],
  upper: ['modify upper'],
  mixed: ['modify mixed.txt'],
  deep: ['modify sub/deep/readme.md'],
  unicode: ['modify ünïcode'],
  made: ['create sub/new'],
  again: ['modify sub/new'],
  ignored: [],
  removed: ['delete file.txt'],
}

describe.skipIf(!mayMount || !isBuilt)(
  'names in any case (needs root, ntfs-3g, a loop device and dist)',
  () => {
    test.each(['auto', 'poll'])('an entry has the name that is stored: %s', (backend) => {
      const program = [process.execPath, join(import.meta.dirname, 'any_case.mjs'), scratch(), backend]
      const output = execFileSync('unshare', ['-m', ...program], { encoding: 'utf8', timeout: 60_000 })
      const { steps, believed, there }: Told = JSON.parse(output)
      expect(steps).toMatchObject(BY_ANY_SOURCE)
      // A rename by another case may be told as a delete and a create. The delete of a directory may come
      // with those of its entries.
      const told = [steps.moved, steps.over, steps.removedDeep].flatMap((changes) => changes ?? []).join('\n')
      for (const each of ['sub/here', 'over', 'delete sub/deep']) expect(told).toContain(each)
      expect(told).not.toMatch(/[A-Z]/)
      // The first is the root.
      expect(believed.slice(1)).toEqual(there)
    })
  },
)
