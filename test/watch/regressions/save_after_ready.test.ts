// A save by rename is told once, also right after `ready` or after the listing of a new directory, when a
// listing may still be ahead of the events: S17.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { inWords, watching } from '../support.ts'

const ROUNDS = 5

test.for([
  { directory: '.', draft: 'a.tmp', isNew: true },
  { directory: '.', draft: '.a.swp', isNew: false },
  { directory: 'sub', draft: '0', isNew: true },
  { directory: 'sub/deep', draft: 'z', isNew: false },
])('$draft over a in $directory; the draft is new: $isNew', async ({ directory, draft, isNew }) => {
  for (let round = 0; round < ROUNDS; round++) {
    const base = scratch()
    const at = (name: string) => join(base, directory, name)
    mkdirSync(at('.'), { recursive: true })
    writeFileSync(at('a'), 'one')
    if (!isNew) writeFileSync(at(draft), 'two')
    const { told } = await watching(base, { recursive: true, backend: 'inotify' })
    if (isNew) writeFileSync(at(draft), 'two')
    renameSync(at(draft), at('a'))
    const [from, to] = [join(directory, draft), join(directory, 'a')]
    expect((await told()).map((change) => inWords(change, base))).toEqual([
      ...(isNew ? [`create file ${from}`] : []),
      `rename file ${from} ${to} replaced`,
    ])
  }
})

test('in a directory that has just been told', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const base = scratch()
    const { watcher, changes } = await watching(base, { recursive: true, backend: 'inotify' })
    mkdirSync(join(base, 'new'))
    writeFileSync(join(base, 'new/a'), 'one')
    await expect.poll(() => changes.length, { interval: 1 }).toBe(2)
    writeFileSync(join(base, 'new/b'), 'two')
    renameSync(join(base, 'new/b'), join(base, 'new/a'))
    await watcher.sync()
    expect(changes.slice(2).map((change) => inWords(change, base))).toEqual([
      'create file new/b',
      'rename file new/b new/a replaced',
    ])
  }
})
