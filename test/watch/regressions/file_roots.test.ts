// The ways of roots, above all of files: the ways in which a root is found to be lost, and the cost of an
// event, which must depend on the named entries alone.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { Inotify, InotifyError, type InotifyOptions } from '../../../src/index.ts'
import type { InotifyInstance } from '../../../src/watch/inotify_instance.ts'
import { rounds } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { inWords, story, watching } from '../support.ts'
import { followingAs, followSymlinks } from './observed.ts'

const NEVER = 1_000_000
const BACKENDS = ['inotify', 'poll'] as const

// Counts the looks at paths of files.
const looks = vi.hoisted(() => ({ count: 0 }))
vi.mock('node:fs/promises', async (original) => {
  const module = await original<typeof import('node:fs/promises')>()
  const stat = (...args: Parameters<typeof module.stat>) => {
    looks.count++
    return module.stat(...args)
  }
  return { ...module, stat }
})

test.each(BACKENDS)('%s: a file that is lost says by what that was found', async (backend) => {
  const path = join(scratch(), 'f')
  writeFileSync(path, '')
  const { told } = await watching(path, { backend, interval: NEVER })
  // Only a look at the path can tell, and a poll makes that look.
  unlinkSync(path)
  const source = backend === 'poll' ? 'poll' : 'inotify'
  expect(await told()).toMatchObject([{ type: 'lost', path, source }])
})

test('poll: a file goes on to be polled by the timer', async () => {
  const path = join(scratch(), 'f')
  writeFileSync(path, '')
  const { changes, watcher } = await watching(path, { backend: 'poll', interval: 5 })
  for (let i = 1; i <= 5; i++) {
    // The timer is still needed: the root's mount is polled.
    expect(watcher.coverage()).toMatchObject([{ path, backend: 'poll', uncovered: [] }])
    writeFileSync(path, 'x'.repeat(i))
    await expect.poll(() => changes.length).toBeGreaterThanOrEqual(i)
  }
})

test('files for whose ways there is no watch left later on are polled, and that is told once', async () => {
  const base = scratch()
  const at = (path: string) => join(base, path)
  mkdirSync(at('deep/er'), { recursive: true })
  for (const file of ['f', 'g', 'deep/er/f', 'deep/er/g']) writeFileSync(at(file), '')
  let isFull = false
  const openInotify = (options: InotifyOptions): InotifyInstance => {
    const inotify = new Inotify(options)
    const add = inotify.add.bind(inotify)
    inotify.add = (path, mask) => {
      if (isFull) throw new InotifyError({ errno: 'ENOSPC', syscall: 'inotify_add_watch', path: `${path}` })
      return add(path, mask)
    }
    return inotify
  }
  const { told, watcher, changes } = await watching(['f', 'g'].map(at), { interval: 20 }, { openInotify })
  const errors: unknown[] = []
  watcher.on('error', (error) => errors.push(error))
  isFull = true
  for (const file of ['f', 'g']) {
    symlinkSync(`deep/er/${file}`, at('new'))
    renameSync(at('new'), at(file))
    expect(story(await told(), base)).toEqual([`modify file ${file}`])
    // No watch tells of this write.
    appendFileSync(at(`deep/er/${file}`), 'x')
    await expect.poll(() => story(changes.splice(0), base)).toEqual([`modify file ${file}`])
  }
  expect(errors).toMatchObject([{ code: 'ENOSPC' }])
  expect(watcher.coverage()).toMatchObject([{ backend: 'poll' }, { backend: 'poll' }])
})

// The watches for the missing root gave way to fewer, and the watcher did not look for the next one.
test.each(['file', 'directory'])(
  'a lost %s that comes and goes while a watch is refused is awaited again',
  async (kind) => {
    const base = scratch()
    const path = join(base, 'root')
    const come = () => (kind === 'file' ? writeFileSync(path, '') : mkdirSync(path))
    const go = () => (kind === 'file' ? unlinkSync(path) : rmdirSync(path))
    // The watch that is refused: a file root's own, or that of a directory root's parent, at the next look.
    const refused = kind === 'file' ? path : base
    let step: 'gone' | 'back' | 'seen' | 'refused' | undefined
    const openInotify = (options: InotifyOptions): InotifyInstance => {
      const inotify = new Inotify(options)
      const add = inotify.add.bind(inotify)
      inotify.add = (at, mask) => {
        if ((step === 'seen' || step === 'refused') && `${at}` === refused) {
          if (step === 'seen') go()
          step = 'refused'
          throw new InotifyError({ errno: 'ENOSPC', syscall: 'inotify_add_watch', path })
        }
        const wd = add(at, mask)
        if (step === 'back' && `${at}` === base) step = 'seen'
        if (step === 'gone' && !existsSync(path) && `${at}` === base) {
          step = 'back'
          come()
        }
        return wd
      }
      return inotify
    }
    come()
    const { watcher, changes } = await watching(path, { interval: NEVER }, { openInotify })
    watcher.on('error', () => {})
    go()
    await watcher.sync()
    // An event makes the watcher look for the root, which is missing again.
    step = 'gone'
    come()
    go()
    await expect.poll(() => step).toBe('refused')
    await watcher.sync()
    step = undefined
    await watcher.sync()
    changes.length = 0
    come()
    await expect.poll(() => story(changes, base)).toContain('restored root')
  },
)

test.each(BACKENDS)('%s: of a directory in the place of a file nothing is told', async (backend) => {
  const directory = scratch()
  const path = join(directory, 'f')
  writeFileSync(path, '')
  const { told } = await watching(path, { backend, interval: NEVER })
  unlinkSync(path)
  mkdirSync(path)
  writeFileSync(join(path, 'in'), '')
  expect(story(await told(), directory)).toEqual(['lost f'])
})

const FILES = rounds(process.env.FILES, { quick: 500, long: 4000 })

test(`of ${FILES} files that are roots, an event of their directory has those looked at that it names`, async () => {
  const directory = scratch('/dev/shm')
  const at = (i: number) => join(directory, `f${i}`)
  for (let i = 0; i < FILES; i++) writeFileSync(at(i), '')
  let ways = 0
  const follow: typeof followSymlinks = (path) => {
    ways++
    return followSymlinks(path)
  }
  const paths = Array.from({ length: FILES }, (_, i) => at(i))
  const { changes } = await watching(paths, { backend: 'inotify', interval: NEVER }, followingAs(follow))
  /** Returns the cost of one event after another. Does not call sync(), which looks at all files. */
  const costOf = async (act: () => void, expected: string[]) => {
    changes.length = 0
    ;[ways, looks.count] = [0, 0]
    act()
    await expect
      .poll(() => changes.map((change) => inWords(change, directory)), { timeout: 60_000 })
      .toEqual(expected)
    return { ways, looks: looks.count }
  }
  const atMost = (most: number) => expect.toSatisfy((count) => count <= most)
  // The last file is told last, so that looks at other files have been counted by then.
  const last = FILES - 1
  const replaced = () => {
    writeFileSync(`${at(last)}-new`, 'more')
    renameSync(`${at(last)}-new`, at(last))
  }
  // The old name, the old file at the new name, and each of the halves may be read in a batch of its own.
  expect(await costOf(replaced, [`modify file f${last}`])).toEqual({ ways: atMost(4), looks: atMost(4) })
  // Makes a neighbour that is no root, and then writes to a root so that a change is told. The write may be
  // read in two batches.
  const beside = () => {
    writeFileSync(join(directory, 'beside'), '')
    appendFileSync(at(last), 'more')
  }
  expect(await costOf(beside, [`modify file f${last}`])).toEqual({ ways: 0, looks: atMost(2) })
})

test('inotify: a directory above a symlink on the way is renamed, of which no event of what it leads to tells', async () => {
  const base = scratch()
  for (const path of ['links', 'real']) mkdirSync(join(base, path))
  symlinkSync('../real', join(base, 'links/link'))
  const root = join(base, 'links/link')
  const { changes } = await watching(root, { backend: 'inotify', interval: NEVER })
  renameSync(join(base, 'links'), join(base, 'elsewhere'))
  await expect.poll(() => changes.map((change) => inWords(change, root))).toEqual(['lost .'])
})
