// S107: a watched tree may be read as often as one likes.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { inWords, watching } from './support.ts'

const READS = 65_000

test.each(['inotify', 'poll'] as const)(`${READS} reads are no change: %s`, async (backend) => {
  const root = scratch()
  const directories = ['a', 'b', 'b/c', 'b/c/d']
  for (const name of directories) mkdirSync(join(root, name))
  const files = directories.map((name) => join(root, name, 'file'))
  for (const file of files) writeFileSync(file, 'text')
  // `settle: 0`: nothing is held back or merged.
  const { told } = await watching(root, { backend, interval: 5, recursive: true, settle: 0 })
  for (let reads = 0; reads < READS; reads += files.length)
    for (const file of files) {
      readFileSync(file)
      if (reads % 1000 === 0) readdirSync(join(file, '..'))
    }
  expect(await told()).toEqual([])
  // It hears of what is one.
  writeFileSync(files[0] as string, 'another text')
  expect([...new Set((await told()).map((change) => inWords(change, root)))]).toEqual(['modify file a/file'])
})
