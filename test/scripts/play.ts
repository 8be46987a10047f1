import { closeSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { Change, WatchOptions } from '../../src/index.ts'
import { scratch } from '../support/scratch.ts'
import { watching } from '../watch/support.ts'
import type { World } from './operations.ts'
import { type Block, type Script, ScriptError, type Source, type Step, type Watch } from './parse.ts'
import { isThere, isWithin, knowable, Replay, reality, type Sight, type Tree } from './replay.ts'
import { comparable, inWords, legible, story } from './told.ts'
import { bytesOf } from './words.ts'

/**
 * The speed of the operations. The changes are the same only 'at once', when all operations are done before
 * the watcher sees the first. At all speeds the changes lead to the tree.
 */
export const PACES = ['at once', 'step by step', 'in passing'] as const
export type Pace = (typeof PACES)[number]

// Longer than any test: sync(), and no timer, found a change.
const NEVER = 1_000_000

/** Plays a script. Fails if the changes differ from the script's, or do not lead to the tree. */
export async function play(script: Script, source: Source, pace: Pace): Promise<void> {
  const { file, watch } = script
  const base = join(scratch(), 'here')
  mkdirSync(base)
  const world = open(base)
  for (const step of script.setUp) await perform(step, world, file)

  const roots = watch.roots.map(({ text }) => resolve(base, text))
  const options = optionsOf(watch, source, pace)
  const belief = new Belief(base, watch, roots)
  const { watcher, changes } = await watching(roots, options)
  world.watcher = watcher

  for (const [i, block] of script.blocks.entries()) {
    const where = `${file}:${block.line}`
    const told: Change[] = []
    const collect = () => told.push(...changes.splice(0).map(legible))
    for (const step of block.steps) {
      await perform(step, world, file)
      belief.noteRoots(step)
      if (pace === 'in passing') await new Promise(setImmediate)
      if (pace === 'step by step') await watcher.sync()
    }
    // A watch tells its own changes before `ready`.
    if (i > 0) await watcher.sync()
    collect()
    if (pace === 'at once') compare(told, block, source, base, watch.settle !== undefined, where)
    belief.hold(told, where)
    expect(strangers(told, source), `${where}: told by another source`).toEqual([])
  }
  await watcher.sync()
  const echo = changes.map(legible)
  expect(story(echo, base), `${file}: told after the end, when nothing happened any more`).toEqual([])
}

/** A consumer of the changes, compared with the tree. */
class Belief {
  readonly #base: string
  readonly #sight: Sight
  readonly #initial: boolean
  readonly #replay: Replay

  constructor(base: string, watch: Watch, roots: string[]) {
    this.#base = base
    this.#sight = { ...watch, ignores: ignoring(watch.ignore, base) }
    this.#initial = watch.initial
    const tree = watch.initial ? new Map() : this.#reality(roots)
    this.#replay = new Replay(
      tree,
      roots,
      roots.filter((root) => !isThere(root)),
    )
  }

  /** Adds the entries of an added root, which are not told, and drops the entries of a removed root. */
  noteRoots({ operation, given }: Step): void {
    const [name] = operation.usage.split(' ')
    const [word] = given.words
    if ((name !== 'add' && name !== 'remove') || word === undefined) return
    const root = resolve(this.#base, word.text)
    const { tree, roots, lost } = this.#replay
    if (name === 'add') {
      roots.add(root)
      if (!isThere(root)) lost.add(root)
      else if (!this.#initial) for (const [path, kind] of this.#reality([root])) tree.set(path, kind)
    } else {
      roots.delete(root)
      lost.delete(root)
      const covered = (path: string) => [...roots].some((root) => isWithin(path, root))
      for (const path of tree.keys()) if (isWithin(path, root) && !covered(path)) tree.delete(path)
    }
  }

  hold(told: readonly Change[], where: string): void {
    this.#replay.apply(told)
    const { roots, lost, present } = this.#replay
    const context = [`${where}: what was told`, ...told.map((change) => `  ${JSON.stringify(change)}`)].join(
      '\n',
    )
    expect(this.#replay.complaints(), `${context}\ndoes not fit together`).toEqual([])
    const unsaid = [...roots].filter((root) => isThere(root) === lost.has(root))
    expect(unsaid, `${context}\nsays nothing of roots that are lost, or there again`).toEqual([])
    const there = this.#reality([...roots].filter((root) => !lost.has(root)))
    expect(listing(knowable(present), this.#base), `${context}\ndoes not lead to what is there`).toEqual(
      listing(there, this.#base),
    )
  }

  #reality(roots: Iterable<string>): Tree {
    return new Map([...roots].flatMap((root) => [...reality(root, this.#sight)]))
  }
}

export function open(base: string): World {
  const held = new Map<string, number>()
  onTestFinished(() => {
    for (const fd of held.values()) closeSync(fd)
  })
  // The path is not normalised: the kernel interprets '..' and a slash at the end.
  return { held, path: ({ text }) => (text === '.' ? Buffer.from(base) : bytesOf(`${base}/${text}`)) }
}

export async function perform(step: Step, world: World, file: string): Promise<void> {
  try {
    await step.operation.run(world, step.given)
  } catch (error) {
    throw new ScriptError(file, step.line, `${step.text}: ${(error as Error).message}`)
  }
}

function optionsOf(watch: Watch, backend: Source, pace: Pace): WatchOptions {
  return {
    backend,
    interval: pace === 'in passing' ? 1 : NEVER,
    recursive: watch.recursive,
    initial: watch.initial,
    followSymlinks: watch.follow,
    ...(watch.ignore.length > 0 ? { ignore: watch.ignore } : {}),
    ...(watch.settle === undefined ? {} : { settle: watch.settle }),
    encoding: watch.bytes ? 'buffer' : 'utf8',
  }
}

function ignoring(rules: Watch['ignore'], base: string): (path: string) => boolean {
  return (path) =>
    rules.some((rule) => (typeof rule === 'string' ? isWithin(path, join(base, rule)) : rule.test(path)))
}

function compare(
  told: readonly Change[],
  block: Block,
  source: Source,
  base: string,
  counted: boolean,
  where: string,
): void {
  const [actual, expected] = comparable(story(told, base, counted), block.expected[source], source)
  expect(actual, `${where}: what ${source} tells ('-': expected, '+': told)`).toEqual(expected)
}

/** Returns changes by another source than the one asked for. A rescan may come with both. */
function strangers(told: readonly Change[], asked: Source): string[] {
  const others = told.filter(
    (change) => 'mask' in change && change.source !== asked && change.source !== 'rescan',
  )
  return others.map((change) => `${change.source}: ${inWords(change, '/')}`)
}

const listing = (tree: Tree, base: string) =>
  [...tree].map(([path, kind]) => inWords({ type: 'create', path, kind } as Change, base).slice(7)).sort()
