// docs/filesystems.md says of every type what src/mounts/filesystems.ts does.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { capability, chooseBackend, knownTypes } from '../../src/mounts/filesystems.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/filesystems.md'), 'utf8')

/** Options by which a row's 9p is told from the others'. */
const MODES: Record<string, string[][]> = {
  'without a cache, mmap, readahead': [[], ['cache=mmap'], ['mmap'], ['cache=readahead']],
  'cache=loose, fscache': [['cache=loose'], ['loose'], ['cache=fscache']],
  'any other cache mode': [['cache=remote_revalidating']],
  "gVisor's gofer: rfdno=": [['rfdno=7', 'cache=remote_revalidating'], ['rfdno=7']],
}

const rows = [...PAGE.matchAll(/^\| (.+?) \| (delivered|lost|unknown) \| (\w+) \| ([\w+]+) \|$/gm)].map(
  (match) => {
    const [, first = '', ...expected] = match
    const note = /\((.*)\)$/.exec(first)?.[1] ?? ''
    const types = first.replace(/ \(.*\)$/, '').split(', ')
    return { types, options: MODES[note] ?? [[]], expected }
  },
)

test.each(rows)('$types: $expected', ({ types, options, expected }) => {
  for (const type of types.map((name) => name.replace('any other', 'jfs').replace('*', 'sshfs'))) {
    for (const mode of options) {
      const mount = { type, options: ['rw', ...mode] }
      const { local, remote } = capability(mount)
      expect([local, remote, chooseBackend(mount).backend], `${type} ${mode}`).toEqual(expected)
    }
  }
})

test('every type that is known is in the table', () => {
  const told = new Set(rows.flatMap(({ types }) => types))
  expect(knownTypes().filter((type) => !told.has(type))).toEqual([])
})
