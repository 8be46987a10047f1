// A path is told once, however many roots cover it.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { WatchOptions } from '../../../src/index.ts'
import { scratch } from '../../support/scratch.ts'
import { AppliedAlone } from '../applied_alone.ts'
import { inWords, RENAME_EXCHANGE, renameWith, watching } from '../support.ts'
import { namesIn } from './names.ts'

const { mkdirSync, renameSync, writeFileSync } = fs
const NEVER = 1_000_000
const BACKENDS = ['inotify', 'poll'] as const

/** The roots, in a tree a/b/c with a file in each directory. */
const COVERINGS: Array<[title: string, roots: string[], recursive: boolean]> = [
  ['one in another', ['', 'a/b'], true],
  ['the inner one first', ['a/b', ''], true],
  ['three within each other', ['', 'a', 'a/b'], true],
  ['a file in a directory', ['a', 'a/f'], false],
  ['a file in a tree', ['', 'a/b/f'], true],
]

describe.each(BACKENDS)('%s: a path is told once, however many roots cover it', (backend) => {
  async function planted(roots: string[], recursive: boolean) {
    const base = scratch()
    const at = (path: string) => join(base, path)
    mkdirSync(at('a/b/c'), { recursive: true })
    for (const path of ['a/f', 'a/b/f', 'a/b/g', 'a/b/c/f']) writeFileSync(at(path), '')
    const options: WatchOptions = { backend, recursive, interval: NEVER }
    const paths = roots.map((root) => (root === '' ? base : at(root)))
    const { told } = await watching(paths, options)
    await told()
    const believed = new AppliedAlone(base).adopt(namesIn(base))
    const lines = async () => {
      const changes = await told()
      believed.apply(changes)
      return changes.map((change) => inWords(change, base))
    }
    const agrees = () => expect([...believed.names].toSorted()).toEqual(namesIn(base).toSorted())
    return { at, lines, agrees }
  }

  test.each(COVERINGS)('a write: %s', async (_, roots, recursive) => {
    const { at, lines } = await planted(roots, recursive)
    const path = roots.find((root) => root.endsWith('f')) ?? 'a/b/f'
    writeFileSync(at(path), 'more')
    expect(await lines()).toEqual([`modify file ${path}`])
  })

  test.each(COVERINGS.filter(([, , recursive]) => recursive))(
    'names that come, move and go: %s',
    async (_, roots, recursive) => {
      const { at, lines, agrees } = await planted(roots, recursive)
      mkdirSync(at('a/b/new'))
      expect(await lines()).toEqual(['create directory a/b/new'])
      renameSync(at('a/b/g'), at('a/b/h'))
      expect(await lines()).toEqual(['rename file a/b/g a/b/h'])
      renameSync(at('a/b/c'), at('a/b/new/c'))
      expect(await lines()).toEqual(['rename directory a/b/c a/b/new/c'])
      // The directory leaves the inner root.
      renameSync(at('a/b/new'), at('a/new'))
      expect(await lines()).toEqual(['rename directory a/b/new a/new'])
      renameSync(at('a/new/c/f'), at('a/b/back'))
      expect(await lines()).toEqual(['rename file a/new/c/f a/b/back'])
      agrees()
    },
  )

  test('an exchange of what lies in two that lie in one', async () => {
    const base = scratch()
    const at = (path: string) => join(base, path)
    for (const path of ['a', 'b']) {
      mkdirSync(at(path))
      writeFileSync(at(`${path}/f`), path)
    }
    const { told } = await watching([base, at('a'), at('b')], { backend, recursive: true, interval: NEVER })
    renameWith(RENAME_EXCHANGE, at('a/f'), at('b/f'))
    const changes = await told()
    expect(changes.map((change) => inWords(change, base))).toHaveLength(1)
    expect(changes[0]).toMatchObject({ type: 'exchange' })
  })
})
