// Links that differ only in their names are followed and watched together: each is told as if there were no
// others.
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Inotify, type InotifyOptions, type WatchOptions } from '../../../../src/index.ts'
import { linux } from '../../../../src/watch/linux.ts'
import { scratch } from '../../../support/scratch.ts'
import { story, watching } from '../../support.ts'
import { untilPast } from '../losing.ts'

const NEVER = 1_000_000
const NAMES = Array.from({ length: 12 }, (_, i) => `f${i}`)

/** The places of the targets: in the watched tree, in an ignored directory of the tree, and elsewhere. */
const PLACES = ['tree/files', 'tree/ignored', 'out/files']

/**
 * Makes links: tree/l/f0 and so on lead to files of these names in a directory, tree/again/f0 leads to the
 * first file once more, and tree/l/chain leads to it by way of out/current.
 */
async function following(place: string, options: WatchOptions = {}) {
  const base = scratch()
  const at = (path: string) => join(base, path)
  for (const path of [place, 'tree/l', 'tree/again', 'out', 'other']) mkdirSync(at(path), { recursive: true })
  for (const name of NAMES) {
    writeFileSync(at(`${place}/${name}`), '')
    symlinkSync(`../../${place}/${name}`, at(`tree/l/${name}`))
  }
  symlinkSync(at(place), at('out/current'))
  symlinkSync('../../out/current/f0', at('tree/l/chain'))
  symlinkSync(at(`${place}/f0`), at('tree/again/f0'))
  await untilPast(at('tree/again/f0'))
  let inotify: Inotify | undefined
  const openInotify = (asked: InotifyOptions) => {
    inotify = new Inotify(asked)
    return inotify
  }
  const { watcher, told } = await watching(
    at('tree'),
    { recursive: true, followSymlinks: true, interval: NEVER, ignore: ['**/ignored'], ...options },
    { openInotify },
  )
  expect(await told()).toEqual([])
  return {
    at,
    watcher,
    /**
     * Returns the changes of the links, without those of the files, which are told as well where the files
     * are in the tree.
     */
    told: async () => story(await told(), at('tree')).filter((line) => / (l|again)\//.test(line)),
    watches: async () => (await linux.kernelWatches(inotify as Inotify))?.size,
  }
}

const FIRST = ['l/f0', 'l/chain', 'again/f0']
const inOrder = (type: string, names: readonly string[]) =>
  names.map((name) => `${type} symlink ${name}`).toSorted()

describe.each(PLACES)('to files in %s', (place) => {
  describe.each(['inotify', 'poll'] as const)('%s', (backend) => {
    test('each that leads to a file tells of it once', async () => {
      const { at, told } = await following(place, { backend })
      appendFileSync(at(`${place}/f0`), 'x')
      expect((await told()).toSorted()).toEqual(inOrder('modify', FIRST))
      chmodSync(at(`${place}/f0`), 0o600)
      expect((await told()).toSorted()).toEqual(inOrder('attrib', FIRST))
      for (const name of NAMES) appendFileSync(at(`${place}/${name}`), 'x')
      const all = [...NAMES.map((name) => `l/${name}`), 'l/chain', 'again/f0']
      expect((await told()).toSorted()).toEqual(inOrder('modify', all))
    })

    test('a file is replaced, removed, made anew, and written each time', async () => {
      const { at, told } = await following(place, { backend })
      const file = at(`${place}/f0`)
      const isToldBy = async (act: () => void) => {
        act()
        expect((await told()).toSorted()).toEqual(inOrder('modify', FIRST))
        expect(await told()).toEqual([])
      }
      writeFileSync(at('other/new'), 'new')
      await isToldBy(() => renameSync(at('other/new'), file))
      await isToldBy(() => appendFileSync(file, 'x'))
      await isToldBy(() => unlinkSync(file))
      await isToldBy(() => writeFileSync(file, ''))
      await isToldBy(() => appendFileSync(file, 'x'))
    })

    test('the directory of the files is renamed, and another has its name', async () => {
      const { at, told } = await following(place, { backend })
      const all = [...NAMES.map((name) => `l/${name}`), 'l/chain', 'again/f0']
      renameSync(at(place), at('other/was'))
      expect((await told()).toSorted()).toEqual(inOrder('modify', all))
      // No link leads there any more.
      appendFileSync(at('other/was/f1'), 'x')
      expect(await told()).toEqual([])
      mkdirSync(at('other/next'))
      for (const name of FIRST.slice(0, 1)) writeFileSync(at(`other/next/${name.slice(2)}`), '')
      renameSync(at('other/next'), at(place))
      expect((await told()).toSorted()).toEqual(inOrder('modify', FIRST))
      appendFileSync(at(`${place}/f0`), 'x')
      expect((await told()).toSorted()).toEqual(inOrder('modify', FIRST))
    })

    test('one file of all is written by a name that it has elsewhere, and that it was given later', async () => {
      const { at, told } = await following(place, { backend })
      linkSync(at(`${place}/f3`), at('other/hard'))
      expect(await told()).toEqual(inOrder('attrib', ['l/f3']))
      appendFileSync(at('other/hard'), 'x')
      expect(await told()).toEqual(inOrder('modify', ['l/f3']))
    })

    test('links change places, and lead elsewhere', async () => {
      const { at, told } = await following(place, { backend })
      for (const [from, to] of [
        ['f1', 'x'],
        ['f2', 'f1'],
        ['x', 'f2'],
      ] as const)
        renameSync(at(`tree/l/${from}`), at(`tree/l/${to}`))
      await told()
      appendFileSync(at(`${place}/f1`), 'x')
      expect(await told()).toEqual(inOrder('modify', ['l/f2']))
      symlinkSync(`../../${place}/f5`, at('tree/l/new'))
      renameSync(at('tree/l/new'), at('tree/l/f4'))
      await told()
      for (const name of ['f4', 'f5']) appendFileSync(at(`${place}/${name}`), 'x')
      expect((await told()).toSorted()).toEqual(inOrder('modify', ['l/f4', 'l/f5']))
      mkdirSync(at('out/second'), { recursive: true })
      writeFileSync(at('out/second/f0'), 'second')
      symlinkSync(at('out/second'), at('out/new'))
      renameSync(at('out/new'), at('out/current'))
      expect(await told()).toEqual(inOrder('modify', ['l/chain']))
      appendFileSync(at('out/second/f0'), 'x')
      expect(await told()).toEqual(inOrder('modify', ['l/chain']))
    })
  })

  test('what one led to, and over, is not watched any more when it leads elsewhere', async () => {
    const { at, told, watches } = await following(place)
    const counts: unknown[] = []
    for (const name of ['d1', 'd2', 'd3']) {
      mkdirSync(at(`other/${name}/to`), { recursive: true })
      writeFileSync(at(`other/${name}/to/x`), '')
      symlinkSync(`../../other/${name}/to/x`, at('other/new'))
      renameSync(at('other/new'), at('tree/l/f1'))
      for (let i = 0; i < 2; i++) await told()
      counts.push(await watches())
    }
    expect(new Set(counts).size).toBe(1)
  })

  test('what nothing needs any more is not watched', async () => {
    const { at, told, watches } = await following(place)
    const [first = 0, count] = [await watches(), NAMES.length]
    // The files have watches, and so have the directories.
    expect(first).toBeGreaterThan(count)
    for (const path of ['tree/l', 'tree/again']) rmSync(at(path), { recursive: true })
    await told()
    for (const path of ['tree/l', 'tree/again']) mkdirSync(at(path))
    // Watches of removed links are dropped once there are many of them.
    for (let i = 0; i < 100; i++) symlinkSync('nowhere', at(`tree/l/none${i}`))
    for (let i = 0; i < 3; i++) await told()
    // The directories above the targets have lost their watches as well.
    expect(await watches()).toBeLessThan(first - count + 3)
  })

  test('a link, and the files, deeper than is gone into', async () => {
    const { at, told } = await following(place, { depth: 0 })
    appendFileSync(at(`${place}/f0`), 'x')
    expect(await told()).toEqual([])
  })
})

test('thousands that come together, and by and by, are each told once', async () => {
  const base = scratch()
  const at = (path: string) => join(base, path)
  for (const path of ['tree/l', 'out', 'new']) mkdirSync(at(path), { recursive: true })
  const names = Array.from({ length: 1200 }, (_, i) => `f${i}`)
  for (const name of names) {
    writeFileSync(at(`out/${name}`), '')
    symlinkSync(`../../out/${name}`, at(`tree/l/${name}`))
    symlinkSync(`../../out/${name}`, at(`new/${name}`))
  }
  await untilPast(at('tree/l/f0'))
  const { told } = await watching(at('tree'), { recursive: true, followSymlinks: true, backend: 'inotify' })
  expect(await told()).toEqual([])
  renameSync(at('new'), at('tree/new'))
  await told()
  for (const name of names) appendFileSync(at(`out/${name}`), 'x')
  const all = names.flatMap((name) => [`l/${name}`, `new/${name}`])
  const changes = await told()
  expect(story(changes, at('tree')).toSorted()).toEqual(inOrder('modify', all))
  // A write and its close are two events.
  expect(changes.length).toBeLessThanOrEqual(2 * all.length)
})

describe('what a link leads over changes while it is followed for the first time', () => {
  /**
   * Makes tree/l, which leads over out/current to a key. Each of the directories has a key, and `swap` makes
   * out/current lead to another directory.
   */
  function leading(directories: readonly string[]) {
    const base = scratch()
    const at = (path: string) => join(base, path)
    mkdirSync(at('tree'))
    for (const name of directories) {
      mkdirSync(at(`out/${name}/to`), { recursive: true })
      writeFileSync(at(`out/${name}/to/key`), name)
    }
    symlinkSync(directories[0] as string, at('out/current'))
    symlinkSync('../out/current/to/key', at('tree/l'))
    const swap = (name: string) => {
      symlinkSync(name, at('out/new'))
      renameSync(at('out/new'), at('out/current'))
    }
    return { at, swap }
  }

  const options = { recursive: true, followSymlinks: true, backend: 'inotify' } as const

  test.each([1, 2, 5])('a link on its way, %i times, before that is watched', async (times) => {
    const names = Array.from({ length: times + 1 }, (_, i) => `d${i}`)
    const { at, swap } = leading(names)
    let done = 0
    const { told } = await watching(at('tree'), options, {
      followTogether: async (paths) => {
        const followed = await linux.followTogether(paths)
        if (done < times) swap(`d${++done}`)
        return followed
      },
    })
    await told()
    expect(done).toBe(times)
    appendFileSync(at(`out/d${times}/to/key`), 'x')
    expect(story(await told(), at('tree'))).toEqual(['modify symlink l'])
    appendFileSync(at('out/d0/to/key'), 'x')
    expect(await told()).toEqual([])
    swap('d0')
    expect(story(await told(), at('tree'))).toEqual(['modify symlink l'])
  })

  test.each(['is there', 'comes later'])(
    'a directory on its way, when another below it has been watched, and the file %s',
    async (when) => {
      const { at } = leading(['d0', 'd1'])
      if (when === 'comes later') for (const name of ['d0', 'd1']) unlinkSync(at(`out/${name}/to/key`))
      let isDone = false
      const openInotify = (asked: InotifyOptions) => {
        const inotify = new Inotify(asked)
        const add = inotify.add.bind(inotify)
        inotify.add = (path, mask) => {
          const wd = add(path, mask)
          if (isDone || path.toString() !== at('out/d0/to')) return wd
          isDone = true
          renameSync(at('out/d0'), at('was'))
          renameSync(at('out/d1'), at('out/d0'))
          return wd
        }
        return inotify
      }
      const { told } = await watching(at('tree'), options, { openInotify })
      await told()
      expect(isDone).toBe(true)
      writeFileSync(at('out/new'), 'new')
      renameSync(at('out/new'), at('out/d0/to/key'))
      expect(story(await told(), at('tree'))).toEqual(['modify symlink l'])
      appendFileSync(at('out/d0/to/key'), 'x')
      expect(story(await told(), at('tree'))).toEqual(['modify symlink l'])
      writeFileSync(at('was/to/key'), 'x')
      expect(await told()).toEqual([])
    },
  )
})
