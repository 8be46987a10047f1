// Links that lead round through several directories: three of them are followed on one way from a root, and
// the next one is told as a link, and as uncovered.
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { WatchOptions } from '../../../../src/index.ts'
import { isLong, rounds } from '../../../support/long.ts'
import { scratch } from '../../../support/scratch.ts'
import { settled } from '../../saved/remembering.ts'
import { inWords, randomFrom, watching } from '../../support.ts'

const MOST_LINKS = 3
const BACKENDS = ['inotify', 'poll'] as const
const NEVER = 1_000_000
const warned = vi.spyOn(process, 'emitWarning')

beforeEach(() => void warned.mockReset())

/** Makes workspaces like npm's and pnpm's, each of which depends on all others. */
function packages(n: number): string {
  const root = scratch()
  for (let i = 0; i < n; i++) {
    const modules = join(root, `packages/p${i}/node_modules`)
    mkdirSync(modules, { recursive: true })
    writeFileSync(join(root, `packages/p${i}/index.js`), '')
    for (let j = 0; j < n; j++) if (i !== j) symlinkSync(`../../p${j}`, join(modules, `p${j}`))
  }
  return root
}

/** All places, and which of them are links one too many: by nothing but the rule. */
function lookRound(root: string): { entries: string[]; uncovered: string[] } {
  const [entries, uncovered] = [[] as string[], [] as string[]]
  const above: string[] = []
  for (let path = realpathSync(root); path !== '/'; path = join(path, '..')) above.push(path)
  const descend = (directory: string, lie: readonly string[], links: number) => {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name)
      const isLink = entry.isSymbolicLink()
      const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
      const real = isDirectory ? realpathSync(path) : ''
      const isCircle = isLink && ['/', ...lie].includes(real)
      const isBeyond = isLink && links === MOST_LINKS
      const isEntered = isDirectory && !isCircle && !isBeyond
      entries.push(`${isEntered ? 'directory' : isLink ? 'symlink' : 'file'} ${path.slice(root.length + 1)}`)
      if (isDirectory && isBeyond && !isCircle) uncovered.push(path.slice(root.length + 1))
      if (isEntered) descend(path, [...lie, real], isLink ? links + 1 : links)
    }
  }
  descend(root, above, 0)
  return { entries: entries.toSorted(), uncovered: uncovered.toSorted() }
}

async function watchingRound(root: string, options: WatchOptions) {
  const follow = { recursive: true, followSymlinks: true, interval: NEVER }
  const watched = await watching(root, { ...follow, ...options })
  const { watcher } = watched
  const seen = () => {
    const all = [...watcher.entries()].filter(({ path }) => path !== root)
    const rows = watcher.coverage().flatMap(({ uncovered }) => uncovered)
    for (const { error } of rows) expect(error).toMatchObject({ code: 'ELOOP', syscall: 'watch' })
    return {
      entries: all.map(({ kind, path }) => `${kind} ${path.slice(root.length + 1)}`).toSorted(),
      uncovered: rows.map(({ path }) => path.slice(root.length + 1)).toSorted(),
    }
  }
  return { ...watched, seen }
}

/** Returns the number of entries, without the root. */
function entriesOf(n: number): number {
  const inPackage = (packagesAbove: number, links: number): number => {
    const others = n - packagesAbove
    const entered = links < MOST_LINKS ? others * inPackage(packagesAbove + 1, links + 1) : 0
    return 2 + (n - 1) + entered
  }
  return 1 + n * (1 + inPackage(1, 0))
}

describe.each(BACKENDS)('%s', (backend) => {
  test.each(isLong ? [2, 3, 4, 5, 6] : [2, 3, 4, 5])(
    '%d packages that depend on each other have so many entries, and no more',
    { timeout: 60_000 },
    async (n) => {
      const root = packages(n)
      const { seen, told } = await watchingRound(root, { backend })
      const found = seen()
      expect(found).toEqual(lookRound(root))
      expect(found.entries).toHaveLength(entriesOf(n))
      expect(found.uncovered.length > 0).toBe(n > MOST_LINKS + 1)
      await told()
      appendFileSync(join(root, 'packages/p0/index.js'), 'x')
      const real = realpathSync(join(root, 'packages/p0/index.js'))
      const places = found.entries
        .flatMap((entry) => (entry.startsWith('file ') ? [entry] : []))
        .filter((entry) => realpathSync(join(root, entry.slice('file '.length))) === real)
      expect((await told()).map((change) => inWords(change, root)).toSorted()).toEqual(
        places.map((entry) => `modify ${entry}`).toSorted(),
      )
    },
  )

  /** A way over five links: r/l0/l1/l2/l3/l4. */
  function chain() {
    const base = scratch()
    const at = (path: string) => join(base, path)
    for (const path of ['r/d', 'o0', 'o1', 'o2', 'o3', 'o4']) mkdirSync(at(path), { recursive: true })
    for (let i = 0; i < 5; i++) {
      writeFileSync(at(`o${i}/f${i}`), '')
      symlinkSync(at(`o${i}`), at(i === 0 ? 'r/l0' : `o${i - 1}/l${i}`))
    }
    return { at, root: at('r') }
  }

  test.each<[title: string, change: (at: (path: string) => string) => void, uncovered: string[]]>([
    ['stays', () => {}, ['l0/l1/l2/l3']],
    ['is removed', (at) => rmSync(at('o2/l3')), []],
    ['leads nowhere', (at) => renameSync(at('o3'), at('o5')), []],
    ['leads to another directory of that path', (at) => swap(at('o3'), at('o4')), ['l0/l1/l2/l3']],
    ['leads to a file', (at) => replaceLink(at('o2/l3'), at('o3/f3')), []],
    ['leads elsewhere', (at) => replaceLink(at('o2/l3'), at('o4')), ['l0/l1/l2/l3']],
    ['leads round in a circle', (at) => replaceLink(at('o2/l3'), at('o0')), []],
    ['is renamed', (at) => renameSync(at('o2/l3'), at('o2/n')), ['l0/l1/l2/n']],
    ['moves up', (at) => renameSync(at('o2/l3'), at('o1/n')), ['l0/l1/n/l4']],
    ['changes places with another', (at) => swap(at('o2/l3'), at('o1/l2')), ['l0/l1/l2/l4']],
    ['has fewer above it', (at) => replaceLink(at('r/l0'), at('o1')), ['l0/l2/l3/l4']],
    ['is a directory', (at) => replaceBy(at('o2/l3'), at('o3')), ['l0/l1/l2/l3/l4']],
    ['has a directory above it', (at) => replaceBy(at('r/l0'), at('o0')), ['l0/l1/l2/l3/l4']],
    ['moves with its directory', (at) => replaceBy(at('r/d/l2'), at('o2')), []],
  ])('the link %s', async (_, change, uncovered) => {
    const { at, root } = chain()
    const { seen, told } = await watchingRound(root, { backend })
    expect(seen()).toEqual(lookRound(root))
    expect(seen().uncovered).toEqual(['l0/l1/l2/l3'])
    change(at)
    await told()
    await told()
    expect(lookRound(root).uncovered).toEqual(uncovered)
    expect(seen()).toEqual(lookRound(root))
  })

  test('a directory with links that moves behind others, and back', async () => {
    const { at, root } = chain()
    symlinkSync(at('o2'), at('r/d/l2'))
    const { seen, told } = await watchingRound(root, { backend })
    const before = seen()
    expect(before).toEqual(lookRound(root))
    expect(before.uncovered).toEqual(['l0/l1/l2/l3'])
    renameSync(at('r/d'), at('o1/d'))
    for (let i = 0; i < 3; i++) await told()
    expect(seen()).toEqual(lookRound(root))
    expect(seen().uncovered).toEqual(['l0/l1/d/l2/l3', 'l0/l1/l2/l3'])
    renameSync(at('o1/d'), at('r/d'))
    for (let i = 0; i < 3; i++) await told()
    expect(seen()).toEqual(before)
  })

  test('a root of its own there is watched, whichever comes first', async () => {
    const { at, root } = chain()
    const inner = join(root, 'l0/l1/l2/l3')
    const { watcher, told } = await watchingRound(root, { backend })
    for (let i = 0; i < 2; i++) {
      await watcher.add(inner)
      await told()
      appendFileSync(at('o3/f3'), 'x')
      const lines = (await told()).map((change) => inWords(change, root))
      expect(lines).toEqual(['modify file l0/l1/l2/l3/f3'])
      if (i === 0) await watcher.remove(inner)
    }
    await watcher.remove(root)
    await watcher.add(root)
    await told()
    appendFileSync(at('o3/f3'), 'x')
    expect((await told()).map((change) => inWords(change, root))).toEqual(['modify file l0/l1/l2/l3/f3'])
  })

  test('a root within another that lies behind links has it among its own', async () => {
    const { root } = chain()
    const { watcher } = await watchingRound(root, { backend })
    await watcher.add(join(root, 'l0/l1'))
    const row = watcher.coverage().findLast(({ path }) => path === join(root, 'l0/l1'))
    expect(row?.uncovered).toMatchObject([{ path: join(root, 'l0/l1/l2/l3'), error: { code: 'ELOOP' } }])
  })

  test('what was saved is the same', async () => {
    const { at, root } = chain()
    const { watcher, seen } = await watchingRound(root, { backend })
    const before = seen()
    // A file that was written just before save() may be told once more (S50).
    await settled(at(''))
    await watcher.save(at('saved'))
    await watcher.close()
    const { seen: seenAgain, told } = await watchingRound(root, { backend, since: at('saved') })
    expect(await told()).toEqual([])
    expect(seenAgain()).toEqual(before)
  })

  test('it is the same whatever has led to it', { timeout: 60_000 }, async () => {
    const seed = Number(process.env.SEED ?? 1)
    for (let i = 0; i < rounds(process.env.ROUNDS, { quick: 3, long: 8 }); i++)
      await playRound(backend, seed + i)
  })
})

/** Links among a few directories that come, go, are swapped and renamed, and the directories as well. */
async function playRound(backend: (typeof BACKENDS)[number], seed: number): Promise<void> {
  const base = scratch()
  const random = randomFrom(seed)
  const pick = <Each>(some: readonly Each[]) => some[random(some.length)] as Each
  const places = ['r', 'r/d', 'r/d/e', 'o', 'p', 'p/q', 's']
  const names = ['x', 'y', 'z']
  const directories = [...places.slice(1), 'r/m', 'o/m', 'm']
  for (const path of places) mkdirSync(join(base, path), { recursive: true })
  const link = () => `${pick(places)}/${pick(names)}`
  const operations = [
    () => symlinkSync(join(base, pick(places)), join(base, link())),
    () => replaceLink(join(base, link()), join(base, pick(places))),
    () => renameSync(join(base, link()), join(base, link())),
    () => rmSync(join(base, link())),
    () => renameSync(join(base, pick(directories)), join(base, pick(directories))),
  ]
  const attempt = () => {
    try {
      pick(operations)()
    } catch {
      // A name is taken, or nothing is there.
    }
  }
  for (let i = 0; i < 12; i++) attempt()
  const root = join(base, 'r')
  const { watcher, seen, told } = await watchingRound(root, { backend })
  expect(seen(), `seed ${seed}`).toEqual(lookRound(root))
  for (let step = 0; step < 12; step++) {
    for (let i = 0; i <= random(3); i++) attempt()
    for (let i = 0; i < 3; i++) await told()
    expect(seen(), `seed ${seed}, step ${step}`).toEqual(lookRound(root))
  }
  await watcher.close()
}

test('it is said once', async () => {
  const root = packages(MOST_LINKS + 2)
  const { told } = await watchingRound(root, {})
  symlinkSync('../../p0', join(root, 'packages/p1/node_modules/other'))
  await told()
  const said = warned.mock.calls.filter((call) => JSON.stringify(call).includes('INOTIFY_BRIDGE_LINKS'))
  expect(said).toEqual([[expect.stringContaining(root), expect.anything()]])
})

function replaceLink(path: string, target: string): void {
  symlinkSync(target, `${path}~`)
  renameSync(`${path}~`, path)
}

function replaceBy(path: string, other: string): void {
  rmSync(path, { force: true })
  renameSync(other, path)
}

/** Two names change places, one after the other. */
function swap(one: string, other: string): void {
  renameSync(one, `${other}~`)
  try {
    renameSync(other, one)
  } catch {
    renameSync(`${other}~`, one)
    return
  }
  renameSync(`${other}~`, other)
}
