// Modifies that `settle` holds back follow their files when two entries change places: each modify has the
// present name of its file.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { inWords, RENAME_EXCHANGE, renameWith, watching } from '../support.ts'

const NEVER = 1_000_000

interface Scenario {
  title: string
  plant: (at: (path: string) => string) => void
  written: string[]
  exchanged: [string, string]
  told: string[]
}

const files =
  (...paths: string[]) =>
  (at: (path: string) => string) => {
    for (const path of paths) {
      mkdirSync(join(at(path), '..'), { recursive: true })
      writeFileSync(at(path), path)
    }
  }

const scenarios: Scenario[] = [
  {
    title: 'one of two files was written',
    plant: files('a', 'b'),
    written: ['a'],
    exchanged: ['a', 'b'],
    told: ['modify file b'],
  },
  {
    title: 'the other was',
    plant: files('a', 'b'),
    written: ['b'],
    exchanged: ['a', 'b'],
    told: ['modify file a'],
  },
  {
    title: 'both were',
    plant: files('a', 'b'),
    written: ['a', 'b'],
    exchanged: ['a', 'b'],
    told: ['modify file a', 'modify file b'],
  },
  {
    title: 'what lies in one of two directories was',
    plant: files('d/x', 'e/y'),
    written: ['d/x'],
    exchanged: ['d', 'e'],
    told: ['modify file e/x'],
  },
  {
    title: 'what has the same name in both was',
    plant: files('d/x', 'e/x'),
    written: ['d/x', 'e/x'],
    exchanged: ['d', 'e'],
    told: ['modify file d/x', 'modify file e/x'],
  },
  {
    title: 'a file was that changes places with a directory, and what is in that',
    plant: files('a', 'd/x'),
    written: ['a', 'd/x'],
    exchanged: ['a', 'd'],
    told: ['modify file a/x', 'modify file d'],
  },
]

describe.each(['inotify', 'poll'] as const)('%s', (backend) => {
  test.each(scenarios.map((scenario) => [scenario.title, scenario] as const))('%s', async (_, scenario) => {
    const root = scratch()
    const at = (path: string) => join(root, path)
    scenario.plant(at)
    const options = { backend, recursive: true, interval: NEVER, settle: NEVER }
    const { told, watcher, changes } = await watching(root, options)
    for (const path of scenario.written) {
      appendFileSync(at(path), 'more')
    }
    // sync() would tell all that is held back.
    if (backend === 'inotify') {
      mkdirSync(at('mark'))
      await expect.poll(() => changes.map(({ path }) => path)).toContain(at('mark'))
    }
    expect(changes.filter(({ type }) => type === 'modify')).toEqual([])
    renameWith(RENAME_EXCHANGE, at(scenario.exchanged[0]), at(scenario.exchanged[1]))
    await watcher.sync()
    const modifies = (await told()).filter(({ type }) => type === 'modify')
    expect(modifies.map((change) => inWords(change, root)).toSorted()).toEqual(scenario.told)
  })
})
