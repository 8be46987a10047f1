// Files that are given to watch() together are looked at and watched together: a change between any two of
// these steps is not lost.
import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { rounds } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { watching } from '../support.ts'
import { observed } from './observed.ts'

const NEVER = 1_000_000
// One in so many moments is played, others for each operation; likewise of the moments between two watches.
// EVERY=1 EVERY_ADD=1 plays all.
const EVERY = rounds(process.env.EVERY, { quick: 9, long: 6 })
const EVERY_ADD = rounds(process.env.EVERY_ADD, { quick: 8, long: 4 })

describe('what is done while files are attached together is not lost, whenever it is done', () => {
  const ROOTS = ['p/d/a', 'p/d/b', 'volume/key', 'link/x']
  // No operation touches this file: when a write to the beacon is told, all earlier changes have been told.
  const BEACON = 'beacon/f'

  function fill(directory: string): void {
    mkdirSync(directory, { recursive: true })
    for (const name of ['a', 'b', 'x', 'key']) writeFileSync(join(directory, name), directory)
  }

  function world(): (path: string) => string {
    const base = scratch()
    const at = (path: string) => join(base, path)
    const volume = ['volume/..1', 'volume/..2']
    for (const directory of ['p/d', 'p/e', 'one', 'two', ...volume]) {
      fill(at(directory))
    }
    mkdirSync(at('beacon'))
    writeFileSync(at(BEACON), '')
    symlinkSync('..1', at('volume/..data'))
    symlinkSync('..2', at('volume/..new'))
    symlinkSync('..data/key', at('volume/key'))
    symlinkSync('one', at('link'))
    symlinkSync('two', at('new'))
    return at
  }

  const OPERATIONS: Readonly<Record<string, (at: (path: string) => string) => void>> = {
    'a file is replaced': (at) => renameSync(at('p/e/a'), at('p/d/a')),
    'a file is written to': (at) => appendFileSync(at('p/d/a'), 'more'),
    'a file goes': (at) => unlinkSync(at('p/d/a')),
    'a directory comes in the place of a file': (at) => {
      unlinkSync(at('p/d/a'))
      mkdirSync(at('p/d/a'))
    },
    'a symlink comes in the place of a file': (at) => {
      symlinkSync('../e/a', at('p/d/link'))
      renameSync(at('p/d/link'), at('p/d/a'))
    },
    'the directory is another': (at) => {
      renameSync(at('p/d'), at('away'))
      renameSync(at('p/e'), at('p/d'))
    },
    'the directory is another, and the one before again': (at) => {
      renameSync(at('p/d'), at('away'))
      renameSync(at('p/e'), at('p/d'))
      renameSync(at('p/d'), at('p/e'))
      renameSync(at('away'), at('p/d'))
    },
    'a symlink comes in the place of the directory': (at) => {
      renameSync(at('p/d'), at('away'))
      symlinkSync('e', at('p/d'))
    },
    'a directory comes in the place of a symlink': (at) => {
      unlinkSync(at('link'))
      renameSync(at('two'), at('link'))
    },
    'the directory goes': (at) => rmSync(at('p/d'), { recursive: true }),
    'a symlink on the way to a key is swapped': (at) => renameSync(at('volume/..new'), at('volume/..data')),
    'the symlink to a directory is swapped': (at) => renameSync(at('new'), at('link')),
    'what a symlink leads to is another': (at) => {
      renameSync(at('one'), at('away'))
      renameSync(at('two'), at('one'))
    },
  }

  /** Makes a path lead to another directory, in one step if the path is a symlink. */
  function swap(at: (path: string) => string, path: string): void {
    const other = at(`another ${path.replace('/', ' ')}`)
    fill(other)
    if (lstatSync(at(path), { throwIfNoEntry: false })?.isDirectory()) {
      renameSync(at(path), at(`${path} before`))
      renameSync(other, at(path))
    } else {
      symlinkSync(other, at('swapping'))
      renameSync(at('swapping'), at(path))
    }
  }

  function isFile(path: string): boolean {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true
  }

  // Only events tell here, as sync() would look at each file. Polls find files that are missing at the look.
  test.each(Object.keys(OPERATIONS))('%s', async (name) => {
    const own = Object.keys(OPERATIONS).indexOf(name)
    for (const isSwapped of [false, true]) {
      let isOver = false
      for (let moment = (own + (isSwapped ? EVERY >> 1 : 0)) % EVERY; !isOver; moment += EVERY) {
        const at = world()
        let steps = 0
        let adds = 0
        const act = (question: string) => {
          if (question === 'add' && adds++ % EVERY_ADD !== 0) return
          if (steps++ === moment) OPERATIONS[name]?.(at)
        }
        const options = { backend: 'inotify' as const, interval: NEVER }
        const { changes, watcher } = await watching([...ROOTS, BEACON].map(at), options, observed(act))
        isOver = steps <= moment
        const isTold = async (what: string, ...paths: string[]) => {
          const untold = () => paths.filter((path) => !changes.some((change) => change.path === path))
          const message = `${what}, if it is done at ${moment}`
          await expect.poll(untold, { interval: 2, timeout: 20_000, message }).toEqual([])
          // The beacon's change shows that all earlier changes have been told.
          if (paths[0] !== at(BEACON)) await settle()
        }
        const settle = async () => {
          appendFileSync(at(BEACON), 'x')
          await isTold('beacon', at(BEACON))
          changes.length = 0
        }
        await settle()
        const files = ROOTS.filter((root) => isFile(at(root)))
        if (isSwapped) {
          for (const path of ['p/d', 'volume/..data', 'link']) {
            const over = files.filter((file) => dirname(file) === path || path.startsWith(dirname(file)))
            swap(at, path)
            await isTold(`${path} is swapped`, ...over.map(at))
          }
        } else {
          for (const file of files) appendFileSync(at(file), 'more')
          await isTold('written', ...files.map(at))
          for (const file of files) {
            writeFileSync(at('replacement'), '')
            renameSync(at('replacement'), realpathSync(at(file)))
          }
          await isTold('replaced', ...files.map(at))
        }
        await watcher.close()
      }
    }
  })
})
