// A tree that changes at random without a watcher: the changes that `since` tells, applied to the snapshot,
// give the present tree, and no write is missing.
import {
  chmodSync,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { rounds } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { RENAME_EXCHANGE, randomFrom, renameWith } from '../support.ts'
import { Consumer, save, seenBelow, settled, since } from './remembering.ts'

type Random = (n: number) => number

const ROUNDS = rounds(process.env.ROUNDS, { quick: 20, long: 40 })

function pathsBelow(root: string): string[] {
  return readdirSync(root, { recursive: true }).map((name) => join(root, String(name)))
}

function pick<T>(random: Random, all: readonly T[]): T | undefined {
  return all[random(all.length || 1)]
}

/**
 * Does a random operation. An impossible one, like moving a directory into itself, has no effect.
 *
 * @param restored takes the inode number of each file that was written and then got its old mtime and size
 * back
 */
function act(random: Random, root: string, step: number, restored?: Set<number>): string {
  const all = pathsBelow(root)
  const isDirectory = (path: string) => lstatSync(path).isDirectory()
  const directories = [root, ...all.filter(isDirectory)]
  const files = all.filter((path) => lstatSync(path).isFile())
  const place = () => join(pick(random, directories) as string, `n${random(12)}`)
  const any = pick(random, all)
  const file = pick(random, files)
  const from = any ?? root
  const operations: Array<[string, () => void]> = [
    [
      'create',
      () => {
        const made = place()
        writeFileSync(made, `new ${step}`)
        // A time that can be put back to the ns.
        if (random(2) === 0) utimesSync(made, 1e9, 1e9)
      },
    ],
    ['mkdir', () => mkdirSync(place())],
    ['write', () => file && writeFileSync(file, `written ${step}`)],
    [
      'write, and put the mtime back',
      () => {
        if (file === undefined) return
        const { atime, mtime, size, ino } = statSync(file)
        restored?.add(ino)
        writeFileSync(file, String(step).padEnd(size, '-').slice(0, size))
        utimesSync(file, atime, mtime)
      },
    ],
    ['chmod', () => any && !lstatSync(any).isSymbolicLink() && chmodSync(any, 0o700 + random(0o100))],
    ['rename', () => any && renameSync(any, join(dirname(any), `n${random(12)}`))],
    ['move', () => any && renameSync(any, place())],
    ['exchange', () => any && renameWith(RENAME_EXCHANGE, any, pick(random, all) as string)],
    ['remove', () => any && rmSync(any, { recursive: true })],
    [
      'remove, and make anew',
      () => {
        if (any === undefined) return
        const wasDirectory = isDirectory(any)
        rmSync(any, { recursive: true })
        if (wasDirectory) mkdirSync(any)
        else writeFileSync(any, `anew ${step}`)
      },
    ],
    [
      'retarget',
      () => {
        const link = all.find((path) => lstatSync(path).isSymbolicLink()) ?? place()
        rmSync(link, { force: true })
        symlinkSync(`n${random(12)}`, link)
      },
    ],
    ['link', () => file && linkSync(file, place())],
    [
      'replace',
      () => {
        if (file === undefined) return
        copyFileSync(file, join(root, 'copy'))
        renameSync(join(root, 'copy'), from)
      },
    ],
    ['unlink', () => file && unlinkSync(file)],
  ]
  const [name, run] = pick(random, operations) as (typeof operations)[number]
  try {
    run()
    return name
  } catch (error) {
    return `${name}: ${(error as NodeJS.ErrnoException).code}`
  }
}

test(`${ROUNDS} rounds of a tree that is changed while nobody watches`, {
  timeout: 10_000 + ROUNDS * 3000,
}, async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e6)
  for (let round = 0; round < ROUNDS; round++) {
    const random = randomFrom(seed + round)
    const base = scratch()
    const roots = random(3) === 0 ? [join(base, 'a'), join(base, 'b')] : [join(base, 'a')]
    for (const root of roots) {
      mkdirSync(root)
      for (let i = 0; i < 5 + random(40); i++) act(random, root, i)
    }
    const backend = () => (['inotify', 'poll', 'auto'] as const)[random(3)] ?? 'auto'
    const file = join(base, 'saved')
    const settings = { hash: random(4) === 0, backend: backend() }
    const how = `SEED=${seed + round}: ${JSON.stringify(settings)}`
    if (random(2) === 0) await settled(...roots)
    await save(roots, file, settings)
    const before = new Map(roots.flatMap((root) => [...seenBelow(root)]))
    const done: string[] = []
    for (let i = random(30); i > 0; i--) done.push(act(random, pick(random, roots) as string, 100 + i))
    const options = {
      ...settings,
      backend: backend(),
      expand: random(2) === 0,
    }
    const { changes, errors, watcher } = await since(roots, file, options)
    const consumer = new Consumer(before, options.expand)
    const filesNow = () =>
      roots
        .flatMap((root) => [...seenBelow(root).keys()])
        .map((path) => ({ path, stats: lstatSync(path) }))
        .filter(({ stats }) => stats.isFile())
    const words = [how, JSON.stringify(options), done.join('; ')]
    const check = (isExcused = (_: Stats) => false) => {
      for (const each of changes) words.push(JSON.stringify(each))
      const told = words.join('\n')
      try {
        consumer.apply(changes.splice(0))
      } catch (error) {
        expect.fail(`${error}\n${told}`)
      }
      expect(errors, told).toEqual([])
      for (const { path, stats } of filesNow()) if (isExcused(stats)) consumer.read.add(path)
      const now = new Map(roots.flatMap((root) => [...seenBelow(root)]))
      expect(consumer.errors(now), told).toEqual([])
    }
    expect(new Set(changes.map(({ source }) => source))).not.toContain('rescan')
    check()
    // The watcher goes on. For a file with several names, events tell the name by which it was written. A
    // rename sets the ctime, so only `hash` shows a poll that a renamed file was written as well, if its
    // mtime was put back in between.
    const inosOfSeveral = new Set<number>()
    const restored = new Set<number>()
    const note = () => {
      for (const { stats } of filesNow()) if (stats.nlink > 1) inosOfSeveral.add(stats.ino)
    }
    note()
    for (let i = 0; i < 5; i++) {
      words.push(act(random, pick(random, roots) as string, 200 + i, restored))
      note()
    }
    await watcher.sync()
    check(({ ino }) => inosOfSeveral.has(ino) || (!settings.hash && restored.has(ino)))
    await watcher.close()
  }
})
