import { lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, unlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { IN_IGNORED, Inotify } from '../../src/index.ts'
import type { InotifyEvent } from '../../src/inotify/batch.ts'
import { barrier } from '../../src/inotify/inotify.ts'
import { formatMask } from '../../src/inotify/mask.ts'
import { DIRECTORY_MASK, FILE_MASK } from '../../src/watch/events/watch_mask.ts'
import { parse, type Script, type Step } from '../scripts/parse.ts'
import type { Word } from '../scripts/words.ts'
import { scratch } from '../support/scratch.ts'
import { FileOperations } from './kernel/file_operations.ts'
import { FileTree } from './kernel/file_tree.ts'
import { InotifyGroup } from './kernel/inotify_group.ts'
import { obstacleOf, scriptCalls } from './kernel/script_calls.ts'

const scripts = join(import.meta.dirname, '../scripts/testdata')

/** A kernel that a script is played on, with a watch of every directory and file. */
interface Kernel {
  run(step: Step): void | Promise<void>
  /** Adds a watch of each directory and file that has none. */
  watch(): void
  /** Reads all events so far. */
  events(): InotifyEvent[] | Promise<InotifyEvent[]>
  /** Maps each wd to the path of its file when the watch was added. */
  paths: Map<number, string>
}

for (const file of readdirSync(scripts, { recursive: true, encoding: 'utf8' }).sort()) {
  if (!file.endsWith('.txt')) continue
  const script = parse(readFileSync(join(scripts, file), 'utf8'), file)
  test(`${file.slice(0, -4)}: the same events as Linux's`, async (context) => {
    const obstacle = stepsOf(script).map(obstacleOf).find(Boolean)
    if (obstacle !== undefined) context.skip(`not simulated: ${obstacle}`)
    if (script.only.some(({ who }) => who === 'user')) context.skip('its watcher may not read all of it')
    const kernels = [await linuxKernel(), simulatedKernel()]
    for (const kernel of kernels) {
      for (const step of script.setUp) await kernel.run(step)
      kernel.watch()
      for (const step of script.blocks.flatMap(({ steps }) => steps)) {
        await kernel.run(step)
        kernel.watch()
      }
    }
    const [real, simulated] = await Promise.all(kernels.map(recordsOf))
    expect(simulated).toEqual(real)
  })
}

const stepsOf = ({ setUp, blocks }: Script) => [...setUp, ...blocks.flatMap(({ steps }) => steps)]

async function linuxKernel(): Promise<Kernel> {
  const top = scratch()
  const base = join(top, 'here')
  mkdirSync(base)
  const inotify = new Inotify()
  const paths = new Map<number, string>()
  const path = ({ text }: Word) => Buffer.from(text === '.' ? base : `${base}/${text}`)
  return {
    paths,
    run: async (step) => {
      const [name] = step.operation.usage.split(' ')
      if (name === 'add' || name === 'remove' || name === 'pause') return
      // Node's own rm goes by the directory's order, which the simulation does not know.
      if (name === 'rm') for (const word of step.given.words) removeByName(path(word).toString())
      else await step.operation.run({ path, held: new Map() }, step.given)
    },
    watch: () => {
      for (const [each, mask] of watchedIn(top)) note(paths, inotify.add(each, mask), relative(top, each))
    },
    events: async () => {
      const mark = inotify[barrier]()
      const events: InotifyEvent[] = []
      for await (const batch of inotify) {
        events.push(...batch)
        if (events.some(({ wd, mask }) => wd === mark && mask & IN_IGNORED)) break
      }
      inotify.close()
      return events.filter(({ wd }) => paths.has(wd))
    },
  }
}

function simulatedKernel(): Kernel {
  const tree = new FileTree(() => 0)
  const files = new FileOperations(tree)
  const group = new InotifyGroup(100_000)
  const paths = new Map<number, string>()
  for (const path of ['/top', '/top/here']) for (const _ of files.make(path, 'directory'));
  const path = ({ text }: Word) => (text === '.' ? '/top/here' : `/top/here/${text}`)
  return {
    paths,
    run: (step) => {
      for (const _ of scriptCalls(step, path, files, tree));
    },
    watch: () => {
      const found = [...tree.below('/top')]
        .filter(([, { kind }]) => kind === 'directory' || kind === 'file')
        .map(([each]) => each)
      for (const each of ['/top', ...found.sort(byPath)]) {
        const inode = tree.at(each)
        note(paths, group.add(inode, inode.isDirectory ? DIRECTORY_MASK : FILE_MASK), relative('/top', each))
      }
    },
    events: () => group.read(),
  }
}

function note(paths: Map<number, string>, wd: number, path: string): void {
  if (!paths.has(wd)) paths.set(wd, path)
}

/**
 * Returns the events as words, with cookies numbered in their order. A repetition is left out: whether the
 * kernel merges two equal events depends on when they are read.
 */
async function recordsOf({ events, paths }: Kernel): Promise<string[]> {
  const cookies = [0]
  const records: string[] = []
  for (const { wd, mask, cookie, name } of await events()) {
    if (!cookies.includes(cookie)) cookies.push(cookie)
    const record = `${paths.get(wd) || '.'}: ${formatMask(mask)} ${name} ${cookies.indexOf(cookie)}`
    if (record !== records.at(-1) || mask & IN_IGNORED) records.push(record)
  }
  return records
}

/** Walks the tree itself, because readdir's recursive form follows symlinks in Node 22. */
function watchedIn(top: string): Array<readonly [path: string, mask: number]> {
  const below = readdirSync(top, { withFileTypes: true }).flatMap((each) => {
    const path = join(top, each.name)
    if (each.isDirectory()) return watchedIn(path)
    return each.isFile() ? [[path, FILE_MASK] as const] : []
  })
  return [[top, DIRECTORY_MASK], ...below.sort(([a], [b]) => byPath(a, b))]
}

const byPath = (a: string, b: string) => (a < b ? -1 : 1)

function removeByName(path: string): void {
  if (!lstatSync(path).isDirectory()) {
    unlinkSync(path)
    return
  }
  for (const name of readdirSync(path).sort()) removeByName(`${path}/${name}`)
  rmdirSync(path)
}
