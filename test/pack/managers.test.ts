import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { packBuilt } from './checkout.ts'
import { environment, MANAGERS, runIn } from './managers.ts'
import { SEEN_MOVE, writeMoves } from './moves.ts'

const folder = mkdtempSync(join(tmpdir(), 'inotify-bridge-managers-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe.skipIf(!isLong)(
  'installed where no script may run (fetches package managers: npm run test:long)',
  () => {
    let tarball: string
    let env: NodeJS.ProcessEnv
    beforeAll(() => {
      tarball = join(folder, packBuilt(folder))
      env = environment()
    })

    test.each(Object.entries(MANAGERS))('by %s: import and require see an IN_MOVED_TO', (name, manager) => {
      const directory = join(folder, name.replace(/\W+/g, '-'))
      mkdirSync(directory)
      const files = { 'package.json': '{ "name": "stranger", "private": true }', ...manager.files }
      for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text)
      writeMoves(directory)
      const run = runIn(directory, env)
      run([manager.program(), ...manager.add(tarball)])
      expect(existsSync(join(directory, 'node_modules/inotify-bridge'))).toBe(manager.node === undefined)
      const node = manager.node === undefined ? [] : [manager.program(), ...manager.node]
      for (const file of ['esm.mjs', 'cjs.cjs']) expect(run([...node, file])).toBe(SEEN_MOVE)
    })
  },
)
