// Walks that report only changes since a moment.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Listing } from '../../src/watch/scan/listing.ts'
import type { WalkRequest } from '../../src/watch/scan/walk_request.ts'
import { Walker } from '../../src/watch/scan/walker.ts'
import { CONTROL_BYTES } from '../faults/control.mjs'
import { enterNamespace, mayUnshare } from '../mounts/namespace.ts'
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'

function openWalker(): Walker {
  const walker = new Walker()
  onTestFinished(() => walker.close())
  return walker
}

/** Returns the listings by name, '' for the root. */
async function walked(request: Omit<WalkRequest, 'rel'>): Promise<Map<string, Listing>> {
  const found = new Map<string, Listing>()
  await openWalker().walk([{ ...request, rel: '' }], (listing) => found.set(listing.name, listing))
  return found
}

const statsOf = (listing: Listing | undefined) =>
  new Map([...(listing?.entries() ?? [])].flatMap(([name, { stat }]) => (stat ? [[name, stat]] : [])))

const ctimeOf = (path: string) => Number(lstatSync(path, { bigint: true }).ctimeNs) / 1e6

/** Returns a moment after all changes so far, on the clock that stamps files. */
function nextTick(root: string): number {
  const probe = join(root, 'probe')
  writeFileSync(probe, '')
  const before = ctimeOf(probe)
  while (ctimeOf(probe) === before) chmodSync(probe, 0o600)
  const now = ctimeOf(probe)
  rmSync(probe)
  return now
}

/** Makes 'old' and 'new', each with files, a directory and a symlink. */
function makeTree(parent?: string): string {
  const root = scratch(parent)
  for (const directory of ['old', 'new', 'old/past', 'new/below']) mkdirSync(join(root, directory))
  for (const directory of ['old', 'new']) {
    const names = ['file', 'ä', 'written', 'moved', 'linked', 'chmod', 'put back']
    for (const name of names) writeFileSync(join(root, directory, name), 'before')
    symlinkSync('file', join(root, directory, 'symlink'))
  }
  return root
}

describe.each([['/dev/shm'], [undefined]])('on %s', (parent) => {
  test('of what was changed since then there is a stat, and of nothing else', async () => {
    const root = makeTree(parent)
    const since = nextTick(root)
    const at = (name: string) => join(root, 'new', name)
    writeFileSync(at('written'), 'after')
    renameSync(at('moved'), at('elsewhere'))
    linkSync(at('linked'), at('link'))
    chmodSync(at('chmod'), 0o600)
    writeFileSync(at('put back'), 'behind')
    utimesSync(at('put back'), 1, 1)
    mkdirSync(at('made'))
    symlinkSync('file', at('new symlink'))
    writeFileSync(at('below/file'), '')
    const found = await walked({ root, recursive: true, stat: true, since })
    const whole = await walked({ root, recursive: true, stat: true })
    expect(found.size).toBe(6)
    const changed = [
      'written',
      'elsewhere',
      'linked',
      'link',
      'chmod',
      'put back',
      'made',
      'new symlink',
      'below',
    ]
    expect([...statsOf(found.get('new')).keys()].sort()).toEqual(changed.sort())
    expect([...statsOf(found.get('')).keys()]).toEqual(['new'])
    expect(statsOf(found.get('old')).size).toBe(0)
    for (const [directory, listing] of found) {
      const all = whole.get(directory)?.entries()
      expect([...listing.entries().keys()]).toEqual([...(all?.keys() ?? [])])
      for (const [name, { kind, ino, stat }] of listing.entries()) {
        expect(all?.get(name), name).toMatchObject(stat === undefined ? { kind, ino } : { kind, ino, stat })
      }
    }
  })

  test('a directory in which nothing has changed is packed as without stats', async () => {
    const root = makeTree(parent)
    const since = nextTick(root)
    writeFileSync(join(root, 'new/written'), 'after')
    const found = await walked({ root, recursive: true, stat: true, since })
    const plain = await walked({ root, recursive: true })
    expect(found.get('old')?.packedFiles).toBe(plain.get('old')?.packedFiles)
    expect(found.get('old')?.packedFiles).not.toBe('')
    expect(found.get('new')?.packedFiles).not.toBe(plain.get('new')?.packedFiles)
    // Nothing is newer than this moment: all files and directories are packed as without stats.
    const never = await walked({ root, recursive: true, stat: true, since: Number.POSITIVE_INFINITY })
    for (const [name, listing] of never) {
      expect(listing.packedFiles).toBe(plain.get(name)?.packedFiles)
      expect(listing.subdirectories()).toEqual(plain.get(name)?.subdirectories())
    }
  })
})

test('the moment itself is of it, and since 0 is all', async () => {
  const root = scratch('/dev/shm')
  writeFileSync(join(root, 'file'), '')
  const ctime = ctimeOf(join(root, 'file'))
  const just = new Float64Array([ctime])
  new BigInt64Array(just.buffer)[0] = (new BigInt64Array(just.buffer)[0] as bigint) + 1n
  const hasStat = async (since: number) =>
    statsOf((await walked({ root, stat: true, since })).get('')).size === 1
  expect(await hasStat(ctime)).toBe(true)
  expect(await hasStat(just[0] as number)).toBe(false)
  expect(await hasStat(0)).toBe(true)
  expect(await hasStat(Number.NEGATIVE_INFINITY)).toBe(true)
})

test('what it makes no sense with is refused', async () => {
  const root = scratch()
  const invalid: Array<Omit<WalkRequest, 'root' | 'rel'>> = [
    {},
    { stat: true, compare: true },
    { stat: true, hash: true },
    { stat: true, names: ['name'] },
  ]
  for (const request of invalid)
    await expect(walked({ root, since: 0, ...request })).rejects.toMatchObject({ code: 'EINVAL' })
  await expect(walked({ root, stat: true, since: Number.NaN })).rejects.toMatchObject({ code: 'EINVAL' })
  expect([...(await walked({ root, stat: true, since: 0 })).keys()]).toEqual([''])
})

test('beside an inode number to be looked up in, and another request behind it', async () => {
  const root = scratch()
  mkdirSync(join(root, 'a/b'), { recursive: true })
  writeFileSync(join(root, 'a/b/file'), '')
  const parentIno = lstatSync(join(root, 'a')).ino
  const stats: number[] = []
  const request = { root, rel: 'a/b', stat: true, parentIno }
  const requests = [{ ...request, since: 0 }, request, { ...request, since: Number.POSITIVE_INFINITY }]
  await openWalker().walk(requests, (listing) => {
    expect(listing.error).toBe(0)
    stats[listing.id] = statsOf(listing).size
  })
  expect(stats).toEqual([1, 1, 0])
})

test.skipIf(!mayUnshare)(
  'where a mount begins, whose number the listing does not have (needs unshare -rm)',
  async () => {
    using namespace = await enterNamespace('mkdir -p tree/mounted; mount -t tmpfs none tree/mounted')
    const root = namespace.reach(join(namespace.directory, 'tree'))
    const inoWith = async (request: Omit<WalkRequest, 'root' | 'rel'>) =>
      (await walked({ root, ...request })).get('')?.entries().get('mounted')?.ino
    expect(await inoWith({ stat: true, since: Number.POSITIVE_INFINITY })).toBe(await inoWith({}))
    expect(await inoWith({ stat: true, since: 0 })).not.toBe(await inoWith({}))
  },
)

describe('what nobody can say the times of', () => {
  const isBuilt = existsSync(join(import.meta.dirname, '../../out/watch/scan/walker.js'))

  /** Returns the stat that a walk reports of an entry whose statx(2) fails. */
  function statOf(make: (path: string) => void, errno: string): unknown {
    const [root, control] = [scratch(), join(scratch(), 'control')]
    make(join(root, 'entry'))
    writeFileSync(control, '')
    truncateSync(control, CONTROL_BYTES)
    const program = [join(import.meta.dirname, 'failing_stat.mjs'), control, root, errno]
    // A sanitizer's library must come first in the list.
    const preload = [process.env.LD_PRELOAD ?? '', compile('faults', ['-shared', '-fPIC'])].join(' ').trim()
    const env = { ...process.env, FAULTS: control, LD_PRELOAD: preload }
    const said: unknown = JSON.parse(execFileSync(process.execPath, program, { env, encoding: 'utf8' }))
    const [[name, entry]] = said as [[string, { stat?: { ctimeMs: number } }]]
    expect(name).toBe('entry')
    return entry.stat
  }

  test.skipIf(!isBuilt).each([
    ['EIO', true],
    ['ESTALE', true],
    ['EACCES', false],
  ])('%s: it may have been changed since (needs out)', (errno, isChanged) => {
    const stat = statOf((path) => writeFileSync(path, ''), errno)
    if (isChanged) expect(stat).toMatchObject({ ctimeMs: expect.closeTo(2 ** 64 / 1e6, -6) })
    else expect(stat).toBeUndefined()
    expect(statOf(mkdirSync, errno)).toBeUndefined()
  })
})
