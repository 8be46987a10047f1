// Mounts below a root, in a mount namespace of its own.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt } from '../child.ts'

test.skipIf(!mayUnshare || !isBuilt)(
  'another mount below a root is compared by itself; where it has come or gone, what was there is deleted and what is there is new (needs unshare -rm and dist)',
  () => {
    const root = scratch()
    onTestFinished(() => rmSync(`${root}.saved`, { force: true }))
    const command = [process.execPath, join(import.meta.dirname, 'mounted.mjs'), root]
    const said = execFileSync('unshare', ['-rm', ...command], { encoding: 'utf8', timeout: 60_000 })
    const steps = said
      .trim()
      .split('\n')
      .map((line): string[] => JSON.parse(line))
    expect(steps).toEqual([
      [],
      ['rename m/z', 'modify m/z', 'modify m/x'],
      ['delete m', 'create m', 'create m/beneath'],
      ['delete m', 'create m', 'create m/new'],
    ])
  },
)
