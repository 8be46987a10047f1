// for await over a watcher: what a slow loop gets, and what leaving it ends.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Change } from '../../src/index.ts'
import { watch } from '../../src/watch/calls.ts'
import type { Watcher } from '../../src/watch/watcher.ts'
import { scratch } from '../support/scratch.ts'
import { isBuilt } from './child.ts'
import { inWords } from './support.ts'

describe.each(['inotify', 'poll'] as const)('%s', (backend) => {
  async function open(): Promise<{ root: string; watcher: Watcher }> {
    const root = scratch()
    const watcher = watch(root, { backend, interval: 5 })
    onTestFinished(() => watcher.close())
    await watcher.ready
    return { root, watcher }
  }
  const make = (root: string, name: string) => mkdirSync(join(root, name))

  test.each([1, 6, 40])(
    'a body during which %i changes come in as many arrays gets them as one, in order',
    async (count) => {
      const { root, watcher } = await open()
      const names = Array.from({ length: count }, (_, i) => `f${i}`)
      const runs: string[][] = []
      make(root, 'first')
      for await (const changes of watcher) {
        runs.push(changes.map((each) => inWords(each, root).replace('create directory ', '')))
        if (runs.length === 2) break
        // A body that is slow: meanwhile each has been told by itself.
        for (const name of names) {
          make(root, name)
          await watcher.sync()
        }
      }
      expect(runs).toEqual([['first'], names])
    },
  )

  test('each of two loops gets all, and neither changes what others are given', async () => {
    const { root, watcher } = await open()
    const heard: Change[][] = []
    watcher.on('changes', (changes) => heard.push(changes))
    const [one, other] = [watcher[Symbol.asyncIterator](), watcher[Symbol.asyncIterator]()]
    for (const name of ['a', 'b', 'c']) {
      make(root, name)
      await watcher.sync()
    }
    expect(heard.map(({ length }) => length)).toEqual([1, 1, 1])
    expect((await one.next()).value).toEqual(heard.flat())
    expect((await other.next()).value).toEqual(heard.flat())
  })

  describe('the only loop', () => {
    const WAYS: ReadonlyArray<[string, (watcher: Watcher) => Promise<unknown>]> = [
      [
        'break',
        async (watcher) => {
          for await (const _ of watcher) break
        },
      ],
      [
        'return',
        async (watcher) => {
          for await (const _ of watcher) return
        },
      ],
      [
        'throw',
        async (watcher) => {
          for await (const _ of watcher) throw new Error('thrown')
        },
      ],
    ]
    test.each(WAYS)('closes the watcher when it is left by %s; one more is told so', async (how, leave) => {
      const { root, watcher } = await open()
      const closed = once(watcher, 'close')
      make(root, 'a')
      if (how === 'throw') await expect(leave(watcher)).rejects.toThrow('thrown')
      else await leave(watcher)
      await closed
      await expect(watcher.sync()).rejects.toMatchObject({ code: 'EBADF' })
      await expect(watcher[Symbol.asyncIterator]().next()).rejects.toMatchObject({
        code: 'EBADF',
        hint: 'leaving its only loop has closed this watcher',
      })
      await watcher.close()
    })
  })

  test.each<[string, (watcher: Watcher) => void]>([
    ['a listener', (watcher) => void watcher.on('changes', () => {})],
    ['another loop', (watcher) => void watcher[Symbol.asyncIterator]()],
    ['next()', (watcher) => void watcher.next({ path: '/elsewhere' }).catch(() => {})],
  ])('leaves the watcher open for %s', async (_, listen) => {
    const { root, watcher } = await open()
    listen(watcher)
    make(root, 'a')
    for await (const _ of watcher) break
    make(root, 'b')
    await watcher.sync()
  })
})

test.skipIf(!isBuilt)('the process ends when the loop is left (needs dist)', () => {
  const directory = scratch()
  writeFileSync(
    join(directory, 'leave.mjs'),
    `import { writeFile } from 'node:fs/promises'
    const { watch } = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))})
    setTimeout(() => writeFile(${JSON.stringify(join(directory, 'f'))}, ''), 50)
    for await (const _ of watch(${JSON.stringify(directory)})) break
    console.log('left the loop')`,
  )
  const said = execFileSync(process.execPath, [join(directory, 'leave.mjs')], {
    encoding: 'utf8',
    timeout: 30_000,
  })
  expect(said).toBe('left the loop\n')
})
