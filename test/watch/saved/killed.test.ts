// kill -9 while save() is under way: the file is the old one or the new one, and the next save removes the
// remains.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { decodeSaved } from '../../../src/watch/saved/format.ts'
import { rounds } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { randomFrom } from '../support.ts'
import { save, since } from './remembering.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../../dist/watch.js'))
const KILLS = rounds(process.env.KILLS, { quick: 10, long: 20 })

test.skipIf(!isBuilt)(
  `killed ${KILLS} times while it saves: old or new (needs dist)`,
  async () => {
    const [root, home] = [scratch(), scratch()]
    const file = join(home, 'saved')
    for (let i = 0; i < 20; i++) {
      mkdirSync(join(root, `d${i}`))
      for (let j = 0; j < 100; j++) writeFileSync(join(root, `d${i}/file-${j}`), '')
    }
    const random = randomFrom(Date.now())
    const beside = watch(home)
    onTestFinished(() => beside.close())
    for (let kill = 0; kill < KILLS; kill++) {
      const child = spawn(process.execPath, [join(import.meta.dirname, 'saving.mjs'), root, file], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const lines = createInterface(child.stdout)
      await once(lines, 'line')
      // Somewhere within a save, which takes some ms; every other time while the file beside it is there.
      if (kill % 2 === 0) await once(beside, 'change')
      await setTimeout(random(kill % 2 === 0 ? 3 : 20))
      child.kill('SIGKILL')
      await once(child, 'close')
      await expect(decodeSaved(readFileSync(file))).resolves.toMatchObject({ roots: [{ path: root }] })
      const { errors, changes, watcher } = await since(root, file)
      expect(errors).toEqual([])
      expect(new Set(changes.map((change) => 'path' in change && change.path))).toSatisfy(
        (paths: Set<string>) => [...paths].every((path) => path === join(root, 'counter')),
      )
      await watcher.close()
      await save(root, file)
      expect(readdirSync(home)).toEqual(['saved'])
    }
  },
  60_000 + KILLS * 3000,
)
