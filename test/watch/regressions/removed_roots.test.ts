// A root that is removed stays removed, whenever that is asked for.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { linux } from '../../../src/watch/linux.ts'
import { Watcher } from '../../../src/watch/watcher.ts'
import { scratch } from '../../support/scratch.ts'
import { inWords, story, watching } from '../support.ts'

const NEVER = 1_000_000
const BACKENDS = ['inotify', 'poll'] as const

/** Two directories, each with a file. */
function two() {
  const base = scratch()
  const [one, other] = [join(base, 'one'), join(base, 'other')]
  for (const path of [one, other]) {
    mkdirSync(path)
    writeFileSync(join(path, 'f'), '')
  }
  return { base, one, other }
}

describe.each(BACKENDS)('%s: a root that is removed is not watched any more', (backend) => {
  test('though it is still being added', async () => {
    const { base, one, other } = two()
    const { watcher, told } = await watching(one, { backend, interval: NEVER })
    const adding = watcher.add(other)
    await watcher.remove(other)
    await adding
    writeFileSync(join(other, 'f'), 'more')
    expect(story(await told(), base)).toEqual([])
    expect(watcher.coverage().map(({ path }) => path)).toEqual([one])
  })

  test('though the watcher has not started yet', async () => {
    const { base, one, other } = two()
    const watcher = new Watcher([one, other], { backend, interval: NEVER }, linux)
    onTestFinished(() => watcher.close())
    const lines: string[] = []
    watcher.on('changes', (changes) => lines.push(...changes.map((change) => inWords(change, base))))
    await watcher.remove(other)
    await watcher.ready
    writeFileSync(join(other, 'f'), 'more')
    await watcher.sync()
    expect(lines).toEqual([])
    expect(watcher.coverage().map(({ path }) => path)).toEqual([one])
  })

  test('though it is removed while the watcher starts, and added again', async () => {
    const { one, other } = two()
    const watcher = new Watcher([one, other], { backend, interval: NEVER }, linux)
    onTestFinished(() => watcher.close())
    await Promise.all([watcher.remove(other), watcher.add(other), watcher.remove(other)])
    expect(watcher.coverage().map(({ path }) => path)).toEqual([one])
  })

  test('and is, if it is added after that', async () => {
    const { base, one, other } = two()
    const { watcher, told } = await watching(one, { backend, interval: NEVER })
    const done = [watcher.add(other), watcher.remove(other), watcher.add(other)]
    await Promise.all(done)
    mkdirSync(join(other, 'd'))
    expect(story(await told(), base)).toEqual(['create directory other/d'])
    expect(
      watcher
        .coverage()
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual([one, other])
  })
})

test('to remove a root rejects as ready does, which nobody else may have heard', async () => {
  const watcher = new Watcher(join(scratch(), 'a'.repeat(300)), {}, linux)
  const ready = watcher.ready.catch((error: Error) => error)
  await expect(watcher.remove('/none')).rejects.toBe(await ready)
})
