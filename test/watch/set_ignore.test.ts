// setIgnore(). The simulation plays it in every order. This file tests watches, counts, and the findings of a
// poll under way.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { watchesIn } from '../../src/inotify/fdinfo.ts'
import { nativeQueue } from '../../src/inotify/inotify.ts'
import { watch } from '../../src/watch/calls.ts'
import type { InotifyInstance } from '../../src/watch/inotify_instance.ts'
import { linux } from '../../src/watch/linux.ts'
import { scratch } from '../support/scratch.ts'
import { stepping } from './regressions/stepping.ts'
import { inWords, watching } from './support.ts'

const NEVER = 1_000_000

/** Makes src/, src/f, src/in/ and src/in/f, and the same in `modules`. */
function plant(): string {
  const root = scratch()
  for (const name of ['src', 'modules']) {
    mkdirSync(join(root, name, 'in'), { recursive: true })
    writeFileSync(join(root, name, 'f'), '')
    writeFileSync(join(root, name, 'in/f'), '')
  }
  return root
}

describe.each(['inotify', 'poll'] as const)('by %s', (backend) => {
  test('what is ignored from now on is told to be gone, and is not told of any more; and what is not, as new', async () => {
    const root = plant()
    const { watcher, told } = await watching(root, {
      backend,
      interval: NEVER,
      recursive: true,
      ignore: [/modules$/],
    })
    const lines = async () => (await told()).map((change) => inWords(change, root)).sort()
    await watcher.setIgnore([join(root, 'src/in'), /g$/])
    expect(await lines()).toEqual([
      'create directory modules',
      'create directory modules/in',
      'create file modules/f',
      'create file modules/in/f',
      'delete directory src/in',
      'delete file src/in/f',
    ])
    for (const path of ['src/in/f', 'src/g', 'modules/g', 'modules/in/f'])
      writeFileSync(join(root, path), 'more')
    expect([...new Set(await lines())]).toEqual(['modify file modules/in/f'])
    renameSync(join(root, 'src/g'), join(root, 'src/h'))
    expect(await lines()).toEqual(['create file src/h'])
    await watcher.setIgnore(undefined)
    expect(await lines()).toEqual([
      'create directory src/in',
      'create file modules/g',
      'create file src/in/f',
    ])
    await watcher.setIgnore((path, kind) => kind === 'directory' && path.endsWith('/src'))
    expect(await lines()).toContain('delete directory src')
    expect(watcher.has(join(root, 'src/f'))).toBe(false)
  })

  test('roots stay, and what one hides of another that lies in it that one tells itself', async () => {
    const root = plant()
    const inner = join(root, 'src')
    const { watcher, told } = await watching([root, inner], { backend, interval: NEVER, recursive: true })
    await watcher.setIgnore([inner, join(root, 'modules')])
    await told()
    writeFileSync(join(root, 'modules/f'), 'more')
    writeFileSync(join(root, 'g'), '')
    expect([...new Set((await told()).map(({ path }) => path))]).toEqual([join(root, 'g')])
  })

  test('a poll that is under way, and has left out what was ignored when it began, does not tell that as gone', async () => {
    const root = plant()
    const steps = stepping()
    const { watcher, changes } = await watching(
      root,
      { backend: 'poll', interval: NEVER, recursive: true, ignore: [/modules$/] },
      steps.system,
    )
    let replaced: Promise<void> | undefined
    steps.between = (path) => {
      if (!path.endsWith('/src')) return
      steps.between = undefined
      replaced = watcher.setIgnore(undefined)
    }
    await watcher.sync()
    await replaced
    await watcher.sync()
    expect(changes.map((change) => inWords(change, root)).sort()).toEqual([
      'create directory modules',
      'create directory modules/in',
      'create file modules/f',
      'create file modules/in/f',
    ])
  })
})

test('watches are freed, and made, as directories are ignored', async () => {
  const root = plant()
  const instances: InotifyInstance[] = []
  const openInotify: typeof linux.openInotify = (options, owner) => {
    const instance = linux.openInotify(options, owner)
    instances.push(instance)
    return instance
  }
  const { watcher } = await watching(root, { backend: 'inotify', recursive: true }, { openInotify })
  const count = () => {
    const [instance] = instances as [InotifyInstance]
    return watchesIn(readFileSync(`/proc/self/fdinfo/${instance[nativeQueue].fd()}`, 'latin1')).length
  }
  const before = count()
  await watcher.setIgnore([/modules$/])
  expect(before - count()).toBe(2)
  await watcher.setIgnore([/src/, /modules/])
  expect(before - count()).toBe(4)
  await watcher.setIgnore([])
  expect(count()).toBe(before)
})

test('what is no such thing is a TypeError, and changes nothing; and of a watcher that is closed there is none to replace', async () => {
  const root = plant()
  const { watcher, told } = await watching(root, { recursive: true })
  for (const wrong of ['modules', [7], [''], {}] as unknown as RegExp[][])
    await expect(watcher.setIgnore(wrong)).rejects.toThrow(/options\.ignore/)
  expect(await told()).toEqual([])
  await watcher.close()
  await expect(watcher.setIgnore([])).rejects.toMatchObject({ code: 'EBADF' })
  const early = watch(root, { recursive: true, initial: true })
  onTestFinished(() => early.close())
  const paths: string[] = []
  early.on('changes', (changes) => paths.push(...changes.map(({ path }) => path.slice(root.length + 1))))
  await early.setIgnore([/modules/])
  await early.sync()
  expect(early.has(join(root, 'modules'))).toBe(false)
  expect(paths).toContain('src/in/f')
})
