import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Inotify, InotifyError, type InotifyOptions } from '../../../src/index.ts'
import type { InotifyInstance } from '../../../src/watch/inotify_instance.ts'
import { linux } from '../../../src/watch/linux.ts'
import { PathWatchCache, watchWays } from '../../../src/watch/roots/ways.ts'
import { scratch } from '../../support/scratch.ts'
import { watching } from '../support.ts'

/** Returns a function that adds watches of these directories, and refuses all others. */
function adding(wds: Record<string, number>, errno: 'ENOSPC' | 'EACCES' | 'ENOENT' = 'ENOSPC') {
  return {
    add: (path: string | Buffer) => {
      const wd = wds[path.toString()]
      if (wd === undefined) throw new InotifyError({ errno, syscall: 'inotify_add_watch', path })
      return wd
    },
  }
}

const plain = { path: '/a/b/c', realPath: '/a/b/c', links: [], left: [] }

describe('watchWays', () => {
  test('answers the watches that were added beside the refusal of another', () => {
    const { watched, refused } = watchWays(plain, true, new PathWatchCache(adding({ '/a': 1 })))
    expect(watched).toEqual([{ path: '/a/b', wd: 1, name: 'b' }])
    expect(refused).toMatchObject({ code: 'ENOSPC', path: '/a/b' })
  })

  test('goes on behind a refusal: others may be had, since they are there already', () => {
    const way = { path: '/a/b/l', realPath: '/x/y', links: [{ path: '/a/b/l', to: '/x/y' }], left: [] }
    const { watched, refused } = watchWays(way, true, new PathWatchCache(adding({ '/x': 1 })))
    expect(watched).toEqual([{ path: '/x/y', wd: 1, name: 'y' }])
    expect(refused).toMatchObject({ code: 'ENOSPC' })
  })

  test('of what is missing the nearest directory that is there is watched for its name, and be it the topmost', () => {
    const { watched } = watchWays(plain, true, new PathWatchCache(adding({ '/': 1 }, 'ENOENT')))
    expect(watched).toEqual([{ path: '/a', wd: 1, name: 'a' }])
    // With all directories there, the topmost one needs no watch, because `/` cannot be renamed.
    expect(
      watchWays(plain, true, new PathWatchCache(adding({ '/': 1, '/a': 2, '/a/b': 3 }))).watched,
    ).toEqual([
      { path: '/a/b/c', wd: 3, name: 'c' },
      { path: '/a/b', wd: 2, name: 'b' },
    ])
  })

  test('what is missing is refused by nobody', () => {
    expect(watchWays(plain, true, new PathWatchCache(adding({ '/a': 1 }, 'ENOENT'))).refused).toBeUndefined()
    expect(watchWays(plain, true, new PathWatchCache(adding({ '/a': 1 }, 'EACCES'))).refused).toMatchObject({
      code: 'EACCES',
    })
  })
})

describe('a file as a root whose way cannot be watched whole', () => {
  async function refusing(backend: 'auto' | 'inotify') {
    const base = scratch()
    mkdirSync(join(base, 'way/to'), { recursive: true })
    writeFileSync(join(base, 'way/to/key'), '')
    let inotify: Inotify | undefined
    const openInotify = (options: InotifyOptions): InotifyInstance => {
      inotify = new Inotify(options)
      const add = inotify.add.bind(inotify)
      // The refusal comes after other watches of the way.
      inotify.add = (path, mask) => {
        if (path !== join(base, 'way')) return add(path, mask)
        throw new InotifyError({ errno: 'ENOSPC', syscall: 'inotify_add_watch', path })
      }
      return inotify
    }
    const { watcher, told } = await watching([], { backend, interval: 1_000_000 }, { openInotify })
    const watches = async () => (await linux.kernelWatches(inotify as Inotify))?.size
    return { path: join(base, 'way/to/key'), watcher, told, watches }
  }

  test('is polled, and keeps none of the watches that were added', async () => {
    const { path, watcher, told, watches } = await refusing('auto')
    await watcher.add(path)
    expect(await watches()).toBe(0)
    writeFileSync(path, 'x')
    expect(await told()).toMatchObject([{ type: 'modify', path, source: 'poll' }])
  })

  test('is refused where nothing is to be polled, and keeps none', async () => {
    const { path, watcher, watches } = await refusing('inotify')
    await expect(watcher.add(path)).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(await watches()).toBe(0)
  })
})
