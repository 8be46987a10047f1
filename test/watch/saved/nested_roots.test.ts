// Roots that lay in each other when they were saved, and do so otherwise when they are compared: what one had told another may tell now.
import { appendFileSync, mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { watch } from '../../../src/watch/calls.ts'
import { scratch } from '../../support/scratch.ts'
import { inWords } from '../support.ts'
import { settled, since } from './remembering.ts'

type At = (path: string) => string

const ACTS: Record<string, (at: At) => void> = {
  nothing: () => {},
  'a file is written': (at) => appendFileSync(at('r/a/x'), 'more'),
  'a directory is renamed': (at) => renameSync(at('r/a/b'), at('r/c/b')),
  'a link was between, and a directory is there': (at) => {
    unlinkSync(at('r/l'))
    mkdirSync(at('r/l'))
    writeFileSync(at('r/l/x'), 'new')
  },
  'a link was between, and nothing is there': (at) => unlinkSync(at('r/l')),
  'a link was between, and leads elsewhere': (at) => {
    unlinkSync(at('r/l'))
    symlinkSync('c', at('r/l'))
  },
  'a directory was there, and a link is': (at) => {
    renameSync(at('r/a'), at('r/was'))
    symlinkSync('../o', at('r/a'))
  },
  'a directory was there, and nothing is': (at) => renameSync(at('r/a'), at('o/a')),
}

const ROOTS: ReadonlyArray<[saved: string[], asked: string[]]> = [
  [
    ['r', 'r/a'],
    ['r', 'r/a'],
  ],
  [['r', 'r/a'], ['r/a']],
  [['r', 'r/a', 'r/a/b'], ['r/a/b']],
  [
    ['r', 'r/a', 'r/a/b'],
    ['r/a/b', 'r/a'],
  ],
  [['r', 'r/a'], ['r']],
  [['r'], ['r', 'r/a']],
  [['r'], ['r/a']],
  [
    ['r', 'r/l'],
    ['r/l', 'r'],
  ],
  [['r', 'r/l'], ['r/l']],
  [
    ['r', 'r/l', 'r/a'],
    ['r/a', 'r/l', 'r'],
  ],
]

/** The names that a consumer has to whom these were told, and what did not fit to those that it had. */
function apply(names: Map<string, string>, changes: readonly Change[]): string[] {
  const wrong: string[] = []
  const below = (path: string) => [...names.keys()].filter((each) => each.startsWith(`${path}/`))
  const take = (path: string) => {
    const taken = [path, ...below(path)].map((each) => [each, names.get(each) ?? ''] as const)
    for (const [each] of taken) names.delete(each)
    return taken
  }
  for (const change of changes) {
    const { type, path } = change
    if (type === 'create') {
      if (names.has(path)) wrong.push(inWords(change, '/'))
      names.set(path, change.kind)
    } else if (type === 'delete' || type === 'modify' || type === 'attrib') {
      if (!names.has(path)) wrong.push(inWords(change, '/'))
      if (type !== 'delete') names.set(path, change.kind)
      else if (names.get(path) === 'directory') take(path)
      else names.delete(path)
    } else if (type === 'rename') {
      if (!names.has(change.from) || names.has(path) !== change.replaced) wrong.push(inWords(change, '/'))
      for (const [each, kind] of take(change.from)) names.set(path + each.slice(change.from.length), kind)
    }
  }
  return wrong
}

describe.each(ROOTS)('saved with %s, compared with %s', (saved, asked) => {
  test.each(Object.entries(ACTS))('%s', async (_, act) => {
    const base = scratch()
    const at: At = (path) => join(base, path)
    for (const directory of ['r/a/b', 'r/c', 'o']) mkdirSync(at(directory), { recursive: true })
    for (const file of ['r/a/x', 'r/a/b/y', 'r/c/z', 'r/f', 'o/x', 'o/q']) writeFileSync(at(file), file)
    symlinkSync('../o', at('r/l'))
    await settled(base)
    const names = new Map<string, string>()
    {
      await using first = watch(saved.map(at), { recursive: true, initial: true })
      first.on('changes', (changes) => apply(names, changes))
      await first.ready
      await first.save(at('snapshot'))
    }
    act(at)
    const { watcher, changes } = await since(asked.map(at), at('snapshot'))
    await watcher.sync()
    await setImmediate()
    const story = changes.map((change) => inWords(change, base)).join('; ')
    expect(apply(names, changes), story).toEqual([])
    // The entries of a lost root stay known, and are not shown.
    const lost = changes.flatMap(({ type, path }) => (type === 'lost' ? [path] : []))
    const isBelow = (path: string, roots: string[]) => roots.some((root) => path.startsWith(`${root}/`))
    const isWithin = (path: string) => isBelow(path, asked.map(at)) && !isBelow(path, lost)
    const shown = [...watcher.entries()].filter(({ path }) => isWithin(path))
    expect(Object.fromEntries([...names].filter(([path]) => isWithin(path))), story).toEqual(
      Object.fromEntries(shown.map(({ path, kind }) => [path, kind])),
    )
  })
})
