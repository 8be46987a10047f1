import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import type { Change } from '../../src/index.ts'
import { compile } from '../support/compile.ts'
import { isLong, roomy } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { AppliedAlone } from './applied_alone.ts'
import { isBuilt, WatchingChild } from './child.ts'
import { contentsOf, divergences, type Snapshot, snapshot } from './model/world/snapshot.ts'
import { Writers } from './model/world/writers.ts'
import { watching } from './support.ts'

// Situations in which other watchers lose changes without a word: here no change is missing, no entry is a
// ghost and no change is told twice.

const lines: string[] = []
afterAll(() => void process.stdout.write(`\n${lines.join('\n')}\n`))

/** A consumer that applies each change alone. */
class Consumer {
  readonly misfits: string[] = []
  overflows = 0
  readonly #believed: AppliedAlone

  constructor(tree: string, before: Snapshot = new Map()) {
    this.#believed = new AppliedAlone(tree).adopt(contentsOf(before))
  }

  get entries() {
    return this.#believed.entries
  }

  apply(changes: Change[]): void {
    this.misfits.push(...changes.flatMap((change) => this.#believed.misfit(change) ?? []))
    this.overflows += changes.filter(({ type }) => type === 'overflow').length
  }
}

interface Observed {
  tree: string
  before: Snapshot
  consumer: Consumer
}

/** Compares the changes with the whole tree. `entries` is the number of new entries. */
function judge(scenario: string, { tree, before, consumer }: Observed, entries: number): void {
  const real = snapshot(tree)
  const found = divergences(consumer.entries, real)
  const missed = found.filter(({ what }) => what.startsWith('missed'))
  const ghosts = found.filter(({ what }) => what.startsWith('a ghost'))
  const { misfits, overflows } = consumer
  const duplicates = misfits.filter((what) => what.includes('the name is taken'))
  const others = misfits.length - duplicates.length
  const fresh = [...real.keys()].filter((path) => !before.has(path))
  lines.push(
    `${scenario}: missed ${missed.length} of ${fresh.length}, ghosts ${ghosts.length}, duplicates ${duplicates.length}, overflows ${overflows}`,
  )
  expect({ missed, ghosts, duplicates }).toEqual({ missed: [], ghosts: [], duplicates: [] })
  expect({ found, others }).toEqual({ found: [], others: 0 })
  expect(fresh).toHaveLength(entries)
}

/** Watches a tree from this process. `plant` makes entries before the watch. */
async function observe(plant: (tree: string) => void = () => {}) {
  const tree = scratch(roomy)
  plant(tree)
  const before = snapshot(tree)
  const consumer = new Consumer(tree, before)
  const { watcher } = await watching(tree, { recursive: true, backend: 'inotify' })
  watcher.on('changes', (changes) => consumer.apply(changes))
  return { tree, before, consumer, watcher }
}

/** The numbers are large enough: a queue holds 16,384 events, and each file is two. */
const FILES = isLong ? 20_000 : 10_000
const CHAINS = isLong ? 500 : 100
const DIRECTORIES_OF_EACH = isLong ? 160 : 10
/** The part of node_modules that is copied: all, or a few hundred files in many directories. */
const COPIED = isLong ? '' : '@types'

const fills = (directory: string, files: number) => ['fill', String(files), directory] as const

describe('0 missed, 0 ghosts, 0 duplicates', () => {
  test.skipIf(!isBuilt)('process stopped while more is done than its queue holds (needs dist)', async () => {
    const [tree, outside] = [scratch(roomy), scratch(roomy)]
    const consumer = new Consumer(tree)
    const options = { recursive: true, backend: 'inotify' } as const
    const child = await WatchingChild.start(tree, {
      ...options,
      onChanges: (changes) => consumer.apply(changes),
    })
    // The directories are watched before the stop: else no event could be lost.
    for (const name of ['a', 'b']) mkdirSync(join(tree, name))
    await child.told()
    await child.stop()
    await using writers = new Writers(1, tree, outside)
    await writers.run([[fills('a', FILES / 2), fills('b', FILES / 2)]])
    child.goOn()
    const told = await child.told()
    judge(
      'process stopped while more is done than its queue holds',
      { tree, before: new Map(), consumer },
      FILES + 2,
    )
    // The queue is shorter than these events.
    const roots = told.filter(({ path }) => path === tree).map(({ type }) => type)
    expect(roots).toContain('overflow')
    expect(roots.at(-1)).toBe('recovered')
  })

  test('more events than a queue holds, JS thread blocked', async () => {
    const observed = await observe()
    mkdirSync(join(observed.tree, 'a'))
    await observed.watcher.sync()
    const input = `${fills('a', FILES).join('\t')}\nrun\n`
    // This process reads no event until the writer is done.
    execFileSync(compile('tree_writer'), [observed.tree, scratch(roomy), '0'], { input })
    await observed.watcher.sync()
    judge('more events than a queue holds, JS thread blocked', observed, FILES + 1)
  })

  test('mkdir -p chains', async () => {
    const observed = await observe()
    await using writers = new Writers(1, observed.tree, scratch(roomy))
    const chains = Array.from({ length: CHAINS }, (_, i) => ['mkdir', `chains/${i}/1/2/3/4/5/6/7`])
    await writers.run([chains])
    await observed.watcher.sync()
    judge('mkdir -p chains', observed, 8 * CHAINS + 1)
  })

  test('storm of 6 processes', async () => {
    const observed = await observe()
    await using writers = new Writers(6, observed.tree, scratch(roomy))
    const storm = Array.from({ length: 6 }, (_, process) => [
      ['mkdir', `storm/${process}`],
      ...Array.from({ length: DIRECTORIES_OF_EACH }, (_, i) => fills(`storm/${process}/${i}`, 99)),
    ])
    await writers.run(storm)
    await observed.watcher.sync()
    judge('storm of 6 processes', observed, 6 * (1 + 100 * DIRECTORIES_OF_EACH) + 1)
  })

  test(`cp -r of a node_modules${isLong ? '' : ', or a part of it'}`, async () => {
    const modules = join(import.meta.dirname, '../../node_modules', COPIED)
    const observed = await observe()
    // Hidden directories there are caches of tests, and may change meanwhile.
    const packages = readdirSync(modules).filter((name) => !name.startsWith('.'))
    const sources = packages.map((name) => join(modules, name))
    await promisify(execFile)('cp', ['-r', ...sources, observed.tree])
    await observed.watcher.sync()
    // `find` prints a byte for each entry, however long the paths are.
    const entries = execFileSync('find', [...sources, '-printf', '.']).length
    judge('cp -r of a node_modules', observed, entries)
  })

  test('tree moved in', async () => {
    const outside = scratch(roomy)
    mkdirSync(join(outside, 'tree/a/b/c'), { recursive: true })
    for (const file of ['1', 'a/2', 'a/b/3', 'a/b/c/4']) writeFileSync(join(outside, 'tree', file), file)
    const observed = await observe()
    renameSync(join(outside, 'tree'), join(observed.tree, 'tree'))
    await observed.watcher.sync()
    judge('tree moved in', observed, 8)
  })

  test('directory renamed, then writes', async () => {
    const observed = await observe((tree) => {
      mkdirSync(join(tree, 'old/sub'), { recursive: true })
      writeFileSync(join(tree, 'old/file'), 'before')
      writeFileSync(join(tree, 'old/sub/file'), 'before')
    })
    const renamed = join(observed.tree, 'new')
    renameSync(join(observed.tree, 'old'), renamed)
    // Two of the files were there, and two are new.
    for (const file of ['file', 'sub/file', 'another', 'sub/another'])
      writeFileSync(join(renamed, file), 'after')
    await observed.watcher.sync()
    judge('directory renamed, then writes', observed, 6)
  })
})
