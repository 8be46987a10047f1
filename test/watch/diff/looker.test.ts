import { constants } from 'node:os'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import type { DiffContext } from '../../../src/watch/diff/context.ts'
import { Looker } from '../../../src/watch/diff/snapshot/looker.ts'
import type { Scanner } from '../../../src/watch/diff/snapshot/scanner.ts'
import type { Listing } from '../../../src/watch/scan/listing.ts'
import type { WalkRequest } from '../../../src/watch/scan/walk_request.ts'
import type { TreeWalker } from '../../../src/watch/system.ts'

const { EIO, EACCES, ENOENT } = constants.errno

/** Looks at files of which some cannot be asked for, and directories that may not be read. */
function looking(failing: Record<string, number>) {
  const asked: string[][] = []
  const walk = async (requests: readonly WalkRequest[], take: (listing: Listing) => void) => {
    asked.push(requests.map(({ root, names }) => `${root}: ${names?.join(' ')}`))
    for (const [id, { root, names = [] }] of requests.entries()) {
      const error = -(names.map((name) => failing[name]).find((each) => each) ?? failing[root] ?? 0)
      const there = names.filter((name) => !(name in failing || root in failing))
      const entries = () => new Map(there.map((name) => [name, { kind: 'file', ino: name.length }]))
      take({ id, error, ino: 2, isShort: false, entries } as unknown as Listing)
    }
  }
  return { asked, looker: new Looker({} as DiffContext, { walk } as unknown as TreeWalker, {} as Scanner) }
}

test('what lies in one directory is looked at together, and one that cannot be asked for hides none that is there', async () => {
  const { asked, looker } = looking({
    bad: EIO,
    others: EACCES,
    '/closed': EACCES,
    '/bad': EIO,
    '/none': ENOENT,
  })
  const inOne = ['/a/x', '/b/yy', '/a/bad', '/a/x', '/closed/x', '/', '/bad/z']
  const found = await looker.stat([...inOne, '/c/others', '/c/x', '/none/x'])
  expect(asked).toEqual([['/a: x bad', '/b: yy', '/closed: x', '/: ', '/bad: z', '/c: others x', '/none: x']])
  const file = (path: string) => ({ kind: 'file', ino: basename(path).length })
  expect(found).toEqual([
    file('/a/x'),
    file('/b/yy'),
    expect.objectContaining({ code: 'EIO', path: '/a/bad' }),
    file('/a/x'),
    null,
    { kind: 'directory', ino: 2 },
    expect.objectContaining({ code: 'EIO', path: '/bad/z' }),
    null,
    file('/c/x'),
    null,
  ])
})
