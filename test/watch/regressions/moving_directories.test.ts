// A directory that moves while a rescan walks is listed nevertheless: earlier changes in the directory are
// told. ROUNDS=N plays the race itself more often.
import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Change, WatchOptions } from '../../../src/index.ts'
import { linux } from '../../../src/watch/linux.ts'
import type { WatchSystem } from '../../../src/watch/system.ts'
import { rounds } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { AppliedAlone } from '../applied_alone.ts'
import { inWords, RENAME_EXCHANGE, renameWith, watching } from '../support.ts'
import { hiding, losing, untilPast } from './losing.ts'
import { namesIn } from './names.ts'
import { stepping } from './stepping.ts'

const ROUNDS = rounds(process.env.ROUNDS, { quick: 3, long: 8 })
const NEVER = 1_000_000

/** Makes and watches a root with the directory a/d, and b beside a. Returns the tree before as well. */
async function planted(options: WatchOptions, system: Partial<WatchSystem>, files = 0) {
  const root = join(scratch('/dev/shm'), 'root')
  const at = (path: string) => join(root, path)
  for (const path of ['a', 'b']) mkdirSync(at(path), { recursive: true })
  for (let i = 0; i < files; i++) writeFileSync(at(`a/f${i}`), '')
  // tmpfs lists the newest entry first: the files are looked at between the name of d and d's own listing.
  mkdirSync(at('a/d'))
  for (const name of ['mod', 'del']) writeFileSync(at(`a/d/${name}`), '')
  await untilPast(at('a/d/del'))
  const before = namesIn(root)
  const { told } = await watching(root, { recursive: true, interval: NEVER, ...options }, system)
  await told()
  /** Writes one file in a directory, makes one and removes one. */
  const changeIn = (directory: string) => {
    writeFileSync(join(directory, 'mod'), 'x')
    writeFileSync(join(directory, 'new'), '')
    unlinkSync(join(directory, 'del'))
  }
  return { root, at, told, before, changeIn }
}

/** Returns the changes in d that are missing, and changes that do not fit. */
function missing(changes: Change[], root: string, before: ReturnType<typeof namesIn>): string[] {
  const lines = changes.map((change) => inWords(change, root))
  // A directory that is told as new is told with all its entries.
  const isTold = lines.some((line) => /^(modify|create) file [ab]\/d\/mod$/.test(line))
  const silent = isTold ? [] : ['mod was written']
  try {
    const believed = new AppliedAlone(root).adopt(before).apply(changes).names
    const real = new Map(namesIn(root))
    for (const path of believed.keys()) if (!real.has(path)) silent.push(`a ghost: ${path}`)
    for (const path of real.keys()) if (!believed.has(path)) silent.push(`not told: ${path}`)
  } catch (error) {
    silent.push(String(error))
  }
  return silent.length > 0 ? [...silent, ...lines] : []
}

describe('a directory moves to one that was listed already, before it is listed itself', () => {
  test.each<[string, WatchOptions]>([
    ['', { backend: 'inotify' }],
    [', with ignore rules', { backend: 'inotify', ignore: [/ignored$/] }],
  ])('while an overflow is recovered from: what was done in it is told%s', async (_, options) => {
    const { system, lose } = losing()
    const steps = stepping()
    const { root, at, told, before, changeIn } = await planted(options, { ...system, ...steps.system })
    lose()
    changeIn(at('a/d'))
    let hasMoved = false
    steps.between = (path) => {
      if (path !== at('a/d') || hasMoved) return
      renameSync(at('a/d'), at('b/d'))
      hasMoved = true
    }
    const changes = await told()
    expect(hasMoved).toBe(true)
    expect(missing(changes, root, before)).toEqual([])
    expect(changes.map(({ type }) => type)).toContain('recovered')
  })

  test.each<[string, WatchOptions]>([
    ['', { backend: 'inotify' }],
    [', with ignore rules', { backend: 'inotify', ignore: [/ignored$/] }],
  ])('while a root that was lost is restored: what was done in it is told%s', async (_, options) => {
    const steps = stepping()
    const { root, at, told, before, changeIn } = await planted(options, steps.system)
    renameSync(root, `${root}-elsewhere`)
    const lost = await told()
    expect(lost.map(({ type }) => type)).toEqual(['lost'])
    changeIn(`${root}-elsewhere/a/d`)
    renameSync(`${root}-elsewhere`, root)
    let hasMoved = false
    steps.between = (path) => {
      if (path !== at('a/d') || hasMoved) return
      renameSync(at('a/d'), at('b/d'))
      hasMoved = true
    }
    const changes = await told()
    expect(hasMoved).toBe(true)
    expect(missing(changes, root, before)).toEqual([])
  })
})

test('the same as a race: no round in which what was done in it is not told', async () => {
  const silent: string[][] = []
  for (let round = 0; round < ROUNDS; round++) {
    const { system, lose } = losing()
    let move: (() => void) | undefined
    let moving: NodeJS.Timeout | undefined
    const openWalker: WatchSystem['openWalker'] = () => {
      const walker = linux.openWalker()
      const walk = walker.walk.bind(walker)
      walker.walk = (requests, ...rest) => {
        // The move comes while the walk looks at 20,000 files, which takes some 30 ms.
        if (requests.some(({ recursive }) => recursive) && move !== undefined) {
          moving = setTimeout(move, (30 * round) / ROUNDS)
          move = undefined
        }
        return walk(requests, ...rest)
      }
      return walker
    }
    const { root, at, told, before, changeIn } = await planted(
      { backend: 'inotify' },
      { ...system, openWalker },
    )
    lose()
    changeIn(at('a/d'))
    move = () => renameSync(at('a/d'), at('b/d'))
    const changes = await told()
    // The walk may have been quicker than the timer, and the timer than the end of sync(), which promises what came before its call.
    clearTimeout(moving)
    changes.push(...(await told()))
    const left = missing(changes, root, before)
    if (left.length > 0) silent.push(left)
  }
  expect(silent, `${silent.length} of ${ROUNDS} rounds`).toEqual([])
})

// A look at a name in the parent directory, for a link or a polled entry, is in one request with the new
// directory.
test('what a new directory lies in is renamed before both are listed: what is in it is told', async () => {
  let move: (() => void) | undefined
  const openWalker: WatchSystem['openWalker'] = () => {
    const walker = linux.openWalker()
    const walk = walker.walk.bind(walker)
    walker.walk = (requests, ...rest) => {
      const isNew = requests.some(({ rel, root }) => `${root}/${rel}`.endsWith('/new'))
      if (isNew && requests.some(({ names }) => names !== undefined)) {
        move?.()
        move = undefined
      }
      return walk(requests, ...rest)
    }
    return walker
  }
  const root = scratch()
  const at = (path: string) => join(root, path)
  mkdirSync(at('a'))
  const options = { backend: 'inotify', recursive: true, followSymlinks: true } as const
  const { told } = await watching(root, options, { openWalker })
  const believed = new AppliedAlone(root).adopt([[at('a'), 'directory']])
  // From here on no event is older than the first listing.
  await told()
  move = () => renameSync(at('a'), at('b'))
  symlinkSync('nowhere', at('a/link'))
  mkdirSync(at('a/new'))
  writeFileSync(at('a/new/file'), '')
  believed.apply(await told())
  expect(move).toBeUndefined()
  const names = ['b', 'b/link', 'b/new', 'b/new/file']
  expect([...believed.names].map(([path]) => path).toSorted()).toEqual(names.map(at))
})

// An entry that arrives where a directory was known has that directory listed again, in one request with the
// new one.
test('a new directory is asked for with what it lies in, which moves before that is listed: what is in it is told', async () => {
  const steps = stepping()
  const root = scratch()
  const at = (path: string) => join(root, path)
  mkdirSync(at('x/y'), { recursive: true })
  const options = { backend: 'inotify', recursive: true } as const
  const { told } = await watching(root, options, { ...hiding('unseen'), ...steps.system })
  mkdirSync(at('unseen'))
  const believed = new AppliedAlone(root).adopt(namesIn(root).filter(([path]) => path !== at('unseen')))
  // From here on no event is older than the first listing.
  expect(await told()).toEqual([])
  let hasMoved = false
  steps.between = (path) => {
    if (path !== at('unseen') || hasMoved) return
    renameSync(at('unseen'), at('z'))
    hasMoved = true
  }
  mkdirSync(at('x/y/new'))
  writeFileSync(at('x/y/new/file'), '')
  renameWith(RENAME_EXCHANGE, at('unseen'), at('x'))
  believed.apply(await told())
  expect(hasMoved).toBe(true)
  expect([...believed.names].map(([path]) => path).toSorted()).toEqual(
    namesIn(root)
      .map(([path]) => path)
      .toSorted(),
  )
})
