// Links on a mount with events for all changes that lead to, or over, a mount where others make changes
// without events: those links are polled.
import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Inotify, type InotifyOptions } from '../../../../src/index.ts'
import type { InotifyInstance } from '../../../../src/watch/inotify_instance.ts'
import { linux } from '../../../../src/watch/linux.ts'
import type { WatchOptions } from '../../../../src/watch/options.ts'
import { scratch } from '../../../support/scratch.ts'
import { story, watching } from '../../support.ts'
import { followSymlinks } from '../observed.ts'

const NEVER = 1_000_000

const replace = (path: string, by: (path: string) => void) => {
  by(`${path}-new`)
  renameSync(`${path}-new`, path)
}

/** Watches a tree beside far/, which stands for a server: others change entries there without events. */
async function watchingFar(plant: (at: (path: string) => string) => void, options: WatchOptions = {}) {
  const base = scratch()
  const at = (path: string) => join(base, path)
  for (const directory of ['tree', 'near', 'far/one', 'far/two', 'silence'])
    mkdirSync(at(directory), { recursive: true })
  for (const file of ['near/key', 'far/key', 'far/one/key', 'far/two/key']) writeFileSync(at(file), '')
  plant(at)
  const isFar = (path: string) => path === at('far') || path.startsWith(at('far/'))
  const openInotify = (options: InotifyOptions): InotifyInstance => {
    const inotify = new Inotify(options)
    const add = inotify.add.bind(inotify)
    // The watch succeeds, and has no events.
    inotify.add = (path, mask) => add(isFar(path.toString()) ? at('silence') : path, mask)
    return inotify
  }
  const asked: string[] = []
  const choose: typeof linux.choose = async (path) => {
    const { realPath, links } = await followSymlinks(path)
    await linux.choose(path)
    asked.push(path)
    const isRemote = isFar(realPath) || links.some((link) => isFar(dirname(link.path)))
    return { backend: isRemote ? 'inotify+poll' : 'inotify', why: 'the test says so' }
  }
  const survey: typeof linux.survey = async (directories) => {
    asked.push(...directories)
    const surveyed = await linux.survey(directories)
    return new Map([...surveyed].filter(([, { resolved }]) => !isFar(resolved.realPath)))
  }
  const all = { recursive: true, followSymlinks: true, interval: NEVER, ...options }
  const { changes, told } = await watching(at('tree'), all, { openInotify, choose, survey })
  return { at, asked, changes, told: async () => story(await told(), at('tree')).toSorted() }
}

describe('what others do on the way of a link, or at its end', () => {
  test('to a file: that it is written, replaced, goes and comes', async () => {
    const { at, told } = await watchingFar((at) => symlinkSync('../far/key', at('tree/l')))
    expect(await told()).toEqual([])
    const steps: Array<() => void> = [
      () => appendFileSync(at('far/key'), 'x'),
      () => replace(at('far/key'), (path) => writeFileSync(path, 'new')),
      () => rmSync(at('far/key')),
      () => writeFileSync(at('far/key'), 'again'),
    ]
    for (const step of steps) {
      step()
      expect(await told(), `${step}`).toEqual(['modify symlink l'])
    }
  })

  test('to a file, by way of a link that is swapped there', async () => {
    const { at, told } = await watchingFar((at) => {
      symlinkSync('../near/key', at('far/current'))
      symlinkSync('../far/current', at('tree/l'))
    })
    writeFileSync(at('near/other'), 'another')
    replace(at('far/current'), (path) => symlinkSync('../near/other', path))
    expect(await told()).toEqual(['modify symlink l'])
  })

  test('to a directory, by way of a link that is swapped there', async () => {
    const { at, told } = await watchingFar((at) => {
      symlinkSync('one', at('far/current'))
      symlinkSync('../far/current', at('tree/l'))
    })
    replace(at('far/current'), (path) => symlinkSync('two', path))
    const changes = await told()
    expect(changes).toContain('create directory l')
    appendFileSync(at('far/two/key'), 'x')
    expect(await told()).toEqual(['modify file l/key'])
  })

  test('to what is missing there, and comes', async () => {
    const { at, told } = await watchingFar((at) => symlinkSync('../far/late/key', at('tree/l')))
    mkdirSync(at('far/late'))
    writeFileSync(at('far/late/key'), '')
    expect(await told()).toEqual(['modify symlink l'])
  })

  test('to another place than before', async () => {
    const { at, told } = await watchingFar((at) => symlinkSync('../near/key', at('tree/l')))
    replace(at('tree/l'), (path) => symlinkSync('../far/key', path))
    await told()
    appendFileSync(at('far/key'), 'x')
    expect(await told()).toEqual(['modify symlink l'])
  })

  test('nobody has to ask for it', async () => {
    const { at, changes } = await watchingFar((at) => symlinkSync('../far/key', at('tree/l')), {
      interval: 20,
    })
    appendFileSync(at('far/key'), 'x')
    await expect
      .poll(() => changes.map(({ path, source }) => [path, source]))
      .toEqual([[at('tree/l'), 'poll']])
  })
})

test("what this machine does there is told by its event, and with 'inotify' nothing is polled", async () => {
  const plant = (at: (path: string) => string) => {
    symlinkSync('../near/key', at('tree/near'))
    symlinkSync('../far/key', at('tree/far'))
  }
  const { at, told } = await watchingFar(plant, { backend: 'inotify' })
  for (const key of ['near/key', 'far/key']) appendFileSync(at(key), 'x')
  expect(await told()).toEqual(['modify symlink near'])
})

test('where links lead is asked for anew when that has changed, and not each time', async () => {
  const links = Array.from({ length: 20 }, (_, i) => `l${i}`)
  const { at, told, asked } = await watchingFar((at) => {
    for (const link of links) symlinkSync('../far/key', at(`tree/${link}`))
  })
  await told()
  const before = asked.length
  expect(before).toBeLessThanOrEqual(2 + links.length)
  appendFileSync(at('far/key'), 'x')
  for (let i = 0; i < 3; i++) await told()
  expect(asked.length).toBe(before)
})

test('of links that lead into one directory it is asked once', async () => {
  const links = Array.from({ length: 20 }, (_, i) => `l${i}`)
  const { at, told, asked } = await watchingFar((at) => {
    for (const link of links) symlinkSync('../near/key', at(`tree/${link}`))
  })
  // The root is asked about as well.
  expect(asked).toEqual([at('tree'), at('near')])
  appendFileSync(at('near/key'), 'x')
  expect(await told()).toEqual(links.map((link) => `modify symlink ${link}`).toSorted())
})
