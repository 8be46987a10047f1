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
      const entries = () => new Map(names.map((name) => [name, { kind: 'file', ino: name.length }]))
      take({ id, error, ino: 2, isShort: false, entries } as unknown as Listing)
    }
  }
  return { asked, looker: new Looker({} as DiffContext, { walk } as unknown as TreeWalker, {} as Scanner) }
}

test('what lies in one directory is looked at together, and each by itself where one of them cannot be asked for', async () => {
  const { asked, looker } = looking({
    bad: EIO,
    others: EACCES,
    '/closed': EACCES,
    '/bad': EIO,
    '/none': ENOENT,
  })
  const inOne = ['/a/x', '/b/yy', '/a/bad', '/a/x', '/closed/x', '/closed/y', '/', '/bad/z']
  const paths = [...inOne, '/c/others', '/c/x', '/none/x', '/none/y']
  const found = await looker.stat(paths)
  expect(asked).toEqual([
    ['/a: x bad', '/b: yy', '/closed: x y', '/: ', '/bad: z', '/c: others x', '/none: x y'],
    ['/a: x', '/a: bad', '/a: x', '/closed: x', '/closed: y', '/c: others', '/c: x'],
  ])
  const file = (path: string) => ({ kind: 'file', ino: basename(path).length })
  expect(found).toEqual([
    file('/a/x'),
    file('/b/yy'),
    expect.objectContaining({ code: 'EIO', path: '/a/bad' }),
    file('/a/x'),
    null,
    null,
    { kind: 'directory', ino: 2 },
    expect.objectContaining({ code: 'EIO', path: '/bad/z' }),
    null,
    file('/c/x'),
    null,
    null,
  ])
})
