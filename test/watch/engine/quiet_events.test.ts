import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { story, watching } from '../support.ts'

// After most events the watcher asks no room for further work. The test does not call sync() after the
// change, because sync() asks all rooms.
test('a root in the tree of another is lost by events that leave nothing else to be done', async () => {
  const root = scratch()
  mkdirSync(join(root, 'd/nested'), { recursive: true })
  const roots = [root, join(root, 'd/nested')]
  const { watcher, changes } = await watching(roots, { recursive: true, interval: 1_000_000 })
  // Without this sync() a mark for the first listing is on its way, after which the watcher asks all rooms.
  await watcher.sync()
  renameSync(join(root, 'd'), join(root, 'e'))
  await expect.poll(() => story(changes, root)).toEqual(['rename directory d e', 'lost d/nested'])
})

test('and is there again by the event of a file alone', async () => {
  const root = scratch()
  const { watcher, changes } = await watching([root, join(root, 'f')], {
    recursive: true,
    interval: 1_000_000,
  })
  await watcher.sync()
  writeFileSync(join(root, 'f'), '')
  await expect.poll(() => story(changes, root)).toContain('restored f')
})
