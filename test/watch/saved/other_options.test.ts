// A snapshot by one set of rules is compared with a tree by another: entries that are hidden by now are
// deleted, and entries that were hidden are created.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { watch } from '../../../src/watch/calls.ts'
import type { WatchOptions } from '../../../src/watch/options.ts'
import type { Watcher } from '../../../src/watch/watcher.ts'
import { rounds } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { randomFrom } from '../support.ts'
import { Consumer, save, settled, since } from './remembering.ts'

const ROUNDS = rounds(process.env.ROUNDS, { quick: 15, long: 40 })

const RULES: WatchOptions[] = [
  {},
  { recursive: false },
  { depth: 0 },
  { depth: 1 },
  { ignore: [/a/] },
  { followSymlinks: true },
  { followSymlinks: true, ignore: [/b/] },
]

const shown = (watcher: Watcher) =>
  [...watcher.entries()].map(({ path, kind }) => `${kind} ${path}`).toSorted()

test.for(Array.from({ length: ROUNDS }, (_, i) => i))(
  'by other rules than it was saved by: %i',
  async (seed) => {
    const random = randomFrom(seed)
    const [root, behind, file] = [scratch(), scratch(), join(scratch(), 'saved')]
    for (const top of [root, behind]) {
      const directories = [top]
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
        const at = join(directories[random(directories.length)] as string, name)
        if (random(2) === 0) writeFileSync(at, name)
        else directories.push(at) && mkdirSync(at)
      }
    }
    symlinkSync(behind, join(root, 'link'))
    const drawn = (): WatchOptions => ({
      ...RULES[random(RULES.length)],
      backend: random(2) === 0 ? 'auto' : 'poll',
    })
    const [before, after] = [drawn(), drawn()]
    // Entries in doubt are compared in another way than the others.
    if (random(2) === 0) await settled(root)
    await using first = watch(root, { recursive: true, ...before })
    await first.ready
    await save(root, file, before)
    const told = [...first.entries()].map(({ path, kind }) => [path, { kind, content: '', mode: 0 }] as const)
    const consumer = new Consumer(new Map(told))
    const { watcher, changes } = await since(root, file, after)
    await setImmediate()
    consumer.apply(changes)
    await using fresh = watch(root, { recursive: true, ...after })
    await fresh.ready
    const names = [...consumer.names].map(([path, { kind }]) => `${kind} ${path}`).toSorted()
    const rules = [before, after].map((each) => ({ ...each, ignore: String(each.ignore) }))
    expect(names, JSON.stringify(rules)).toEqual(shown(fresh))
    expect(shown(watcher)).toEqual(shown(fresh))
  },
)
