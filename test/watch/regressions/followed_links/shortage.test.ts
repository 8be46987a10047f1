// A lack of threads or descriptors when the watcher looks where links lead: the lack says nothing of the
// links, is told once, and loses no change.
import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { InotifyError } from '../../../../src/index.ts'
import { linux } from '../../../../src/watch/linux.ts'
import type { Listing } from '../../../../src/watch/scan/listing.ts'
import type { WalkRequest } from '../../../../src/watch/scan/walk_request.ts'
import type { TreeWalker } from '../../../../src/watch/system.ts'
import { scratch } from '../../../support/scratch.ts'
import { story, watching } from '../../support.ts'

type Failure = 'no thread' | 'no descriptor'

/** A system whose walkers fail at the next `times` walks that are meant. */
function short(failure: Failure) {
  const control = { times: 0, isMeant: (_: WalkRequest): boolean => false }
  const openWalker = (): TreeWalker => {
    const walker = linux.openWalker()
    const walk: TreeWalker['walk'] = async (requests, take, ...rest) => {
      if (control.times === 0 || !requests.some(control.isMeant))
        return await walker.walk(requests, take, ...rest)
      control.times--
      if (failure === 'no thread') throw new InotifyError({ errno: 'EAGAIN', syscall: 'walk' })
      for (const id of requests.keys())
        take({ id, error: -constants.errno.EMFILE, isShort: true } as unknown as Listing)
    }
    return new Proxy(walker, {
      get: (target, name) => {
        if (name === 'walk') return walk
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
  return Object.assign(control, { system: { openWalker } })
}

describe.each(['no thread', 'no descriptor'] as const)('%s', (failure) => {
  async function following() {
    const base = scratch()
    const at = (path: string) => join(base, path)
    mkdirSync(at('tree'))
    mkdirSync(at('out/one'), { recursive: true })
    writeFileSync(at('out/key'), '')
    const walks = short(failure)
    const options = {
      recursive: true,
      followSymlinks: true,
      interval: 1_000_000,
      backend: 'inotify',
    } as const
    const { watcher, told } = await watching(at('tree'), options, walks.system)
    const errors: unknown[] = []
    watcher.on('error', (error) => errors.push((error as InotifyError).code))
    return {
      at,
      errors,
      told: async () => story(await told(), at('tree')),
      isOver: () => walks.times === 0,
      /** Puts another file in the place of out/key, the target of links. */
      replaceKey: () => {
        writeFileSync(at('out/new'), 'new')
        renameSync(at('out/new'), at('out/key'))
      },
      /** Makes the next `times` looks fail: those at the targets of links, or those at the link itself. */
      fail: (times: number, whose: 'end' | 'link') => {
        walks.times = times
        walks.isMeant = ({ root, names }) =>
          names !== undefined && (whose === 'end' ? root.startsWith(at('out')) : root === at('tree/l'))
      },
    }
  }

  const code = failure === 'no thread' ? 'EAGAIN' : 'EMFILE'

  test.each(['end', 'link'] as const)('a link comes meanwhile (%s)', async (whose) => {
    const { at, told, fail, errors } = await following()
    fail(20, whose)
    symlinkSync('../out/one', at('tree/l'))
    await told()
    // The watcher tries again without a call.
    await expect.poll(told).toEqual([])
    writeFileSync(at('out/one/f'), '')
    expect(await told()).toEqual(['create file l/f'])
    renameSync(at('out/one'), at('out/away'))
    expect(await told()).toEqual(['delete directory l', 'create symlink l'])
    // A listing in between succeeds and ends the shortage for the watcher, so that a later failure is told
    // anew.
    expect(whose === 'end' ? errors : [...new Set(errors)]).toEqual([code])
  })

  test('a link to a file comes meanwhile', async () => {
    const { at, told, fail, isOver, replaceKey, errors } = await following()
    fail(20, 'end')
    symlinkSync('../out/key', at('tree/l'))
    expect(await told()).toEqual(['create symlink l'])
    await expect.poll(isOver).toBe(true)
    await told()
    replaceKey()
    expect(await told()).toEqual(['modify symlink l'])
    expect(errors).toEqual([code])
  })

  test('what a link leads to is written meanwhile', async () => {
    const { at, told, fail, replaceKey, errors } = await following()
    symlinkSync('../out/key', at('tree/l'))
    expect(await told()).toEqual(['create symlink l'])
    fail(3, 'end')
    for (let i = 0; i < 3; i++) {
      appendFileSync(at('out/key'), 'x')
      expect(await told()).toEqual(['modify symlink l'])
    }
    replaceKey()
    expect(await told()).toEqual(['modify symlink l'])
    expect(errors).toEqual([code])
  })

  test('nothing is told to be gone where nobody could look', async () => {
    const { at, told, fail, errors } = await following()
    symlinkSync('../out/one', at('tree/l'))
    await told()
    fail(3, 'link')
    renameSync(at('tree/l'), at('tree/m'))
    renameSync(at('tree/m'), at('tree/l'))
    await told()
    symlinkSync('../out/one', at('out/other'))
    renameSync(at('out/other'), at('tree/l'))
    const seen = await told()
    await expect.poll(told).toEqual([])
    writeFileSync(at('out/one/f'), '')
    expect(await told()).toEqual(['create file l/f'])
    expect(seen.filter((line) => line.startsWith('create symlink'))).toEqual([])
    expect(new Set(errors)).toEqual(new Set([code]))
  })
})
