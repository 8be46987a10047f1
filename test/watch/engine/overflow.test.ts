import { mkdirSync, renameSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Inotify, InotifyOptions } from '../../../src/index.ts'
import { scratch } from '../../support/scratch.ts'
import { mayLimitQueue, narrowInotify } from '../model/watching/observer.ts'
import { untilPast } from '../regressions/losing.ts'
import { inWords, Replay, reality, watching } from '../support.ts'

const NEVER = 1_000_000

const narrow = (options: InotifyOptions) => narrowInotify(16, options)

describe.skipIf(!mayLimitQueue)('an overflow', () => {
  test('is told, then exactly what differs, then that it is over', async () => {
    const [one, two] = [scratch(), scratch()]
    for (const name of ['renamed', 'deleted', 'kept']) mkdirSync(join(one, name))
    writeFileSync(join(one, 'written'), 'x')
    writeFileSync(join(two, 'quiet'), '')
    await untilPast(join(two, 'quiet'))
    const options = { backend: 'inotify', interval: NEVER } as const
    const { told } = await watching([one, two], options, { openInotify: narrow })
    const replay = new Replay()
    for (const root of [one, two]) for (const [path, kind] of reality(root)) replay.names.set(path, kind)

    // The loop is blocked meanwhile: the queue is full of this, and swallows the rest.
    for (let i = 0; i < 100; i++) {
      mkdirSync(join(one, `d${i}`))
      if (i % 2 === 0) rmdirSync(join(one, `d${i}`))
    }
    renameSync(join(one, 'renamed'), join(one, 'other'))
    rmdirSync(join(one, 'deleted'))
    writeFileSync(join(one, 'written'), 'longer')

    const changes = await told()
    const order = (root: string) =>
      changes
        .filter(({ path, type }) => path === root && /overflow|recovered/.test(type))
        .map(({ type, source }) => [type, source])
    for (const root of [one, two]) {
      expect(order(root).slice(0, 2)).toEqual([
        ['overflow', 'inotify'],
        ['recovered', 'rescan'],
      ])
    }
    const types = changes.map(({ path, type }) => (path === two ? type : ''))
    const between = changes.slice(types.indexOf('overflow') + 1, types.indexOf('recovered'))
    expect(between.filter(({ source }) => source !== 'rescan')).toEqual([])
    replay.apply(changes)
    expect(replay.names).toEqual(new Map([...reality(one), ...reality(two)]))
    const lines = changes.map((change) => inWords(change, one))
    expect(lines).toContain('rename directory renamed other')
    expect(lines).toContain('delete directory deleted')
    expect(lines).toContain('modify file written')
    expect(lines.filter((line) => line.includes('kept'))).toEqual([])
    expect(changes.some(({ path }) => path.startsWith(`${two}/`))).toBe(false)

    mkdirSync(join(one, 'after'))
    expect((await told()).map((change) => inWords(change, one))).toEqual(['create directory after'])
  })

  test('swallows that a watch is gone: it is set again', async () => {
    const base = scratch()
    const [noisy, root] = [join(base, 'noisy'), join(base, 'root')]
    for (const path of [noisy, root]) mkdirSync(path)
    let inotify: Inotify | undefined
    const openInotify = (options: InotifyOptions) => {
      inotify = narrow(options)
      return inotify
    }
    const { told } = await watching([noisy, root], { backend: 'inotify', interval: NEVER }, { openInotify })
    for (let i = 0; i < 100; i++) mkdirSync(join(noisy, `d${i}`))
    // The kernel removes a watch with its directory. A directory with the same inode number may have taken
    // the place.
    const SECOND = 2
    inotify?.remove(SECOND)
    mkdirSync(join(root, 'a'))
    const lines = (await told()).map((change) => inWords(change, base))
    expect(lines.filter((line) => line.endsWith('root/a'))).toEqual(['create directory root/a'])
    mkdirSync(join(root, 'b'))
    const changes = await told()
    expect(changes.map((change) => inWords(change, base))).toEqual(['create directory root/b'])
    expect(changes.map(({ source }) => source)).toEqual(['inotify'])
  })

  test('causes no other: the recovery removes no watches of links that it adds again', async () => {
    const base = scratch()
    const [files, root] = [join(base, 'files'), join(base, 'root')]
    for (const path of [files, root]) mkdirSync(path)
    const link = (i: number, to: number) => {
      symlinkSync(`../files/${to}`, join(root, 'next'))
      renameSync(join(root, 'next'), join(root, `link${i}`))
    }
    const LINKS = 100
    for (let i = 0; i < LINKS; i++) {
      writeFileSync(join(files, `${i}`), '')
      link(i, i)
    }
    const options = { backend: 'inotify', interval: NEVER, followSymlinks: true } as const
    const { told } = await watching(root, options, { openInotify: narrow })
    for (let i = 0; i < LINKS; i++) link(i, (i + 1) % LINKS)
    // The second call tells of another overflow, if there is one.
    const changes = [...(await told()), ...(await told())]
    expect(changes.filter(({ type }) => type === 'overflow')).toHaveLength(1)
  })
})
