// Roots that go, come and are replaced: each change is told once, by any of the roots that cover it.
import * as fs from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type ChokidarOptions, watch } from '../../src/entries/chokidar.ts'
import { scratch } from '../support/scratch.ts'

/** Follows it, and tells the events since the last time, sorted, as soon as there are so many. */
async function following(base: string, paths: string | string[], options: ChokidarOptions) {
  const watcher = watch(paths, { ignoreInitial: true, ...options })
  onTestFinished(() => watcher.close())
  const events: string[] = []
  watcher.on('all', (event, path) => void events.push(`${event} ${relative(base, path)}`))
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  const told = async (count: number) => {
    await expect.poll(() => events.length).toBeGreaterThanOrEqual(count)
    return events.splice(0).sort()
  }
  /**
   * Waits until these are the last events of their paths. A path that was renamed away and back may go and
   * come once more, because its event was on the way. With `atomic` that is a 'change' of a file.
   */
  const becomes = async (...expected: string[]) => {
    const latest = () => {
      const states = events.map((line) => line.replace(/^change /, 'add '))
      const byPath = new Map(states.map((line) => [line.slice(line.indexOf(' ')), line]))
      return [...byPath.values()].sort()
    }
    await expect.poll(latest).toEqual(expected)
  }
  return { watcher, told, becomes }
}

const EACH = [{}, { atomic: false }, { usePolling: true, interval: 20 }]

test.each<ChokidarOptions>(EACH)('a file alone: replaced, gone, there again (%o)', async (options) => {
  const base = scratch()
  const file = join(base, 'f')
  fs.writeFileSync(file, '')
  const { told } = await following(base, file, options)
  fs.writeFileSync(join(base, 'beside'), 'text')
  fs.renameSync(join(base, 'beside'), file)
  expect(await told(1)).toEqual(['change f'])
  fs.rmSync(file)
  expect(await told(1)).toEqual(['unlink f'])
  fs.writeFileSync(file, 'text')
  expect(await told(1)).toEqual(['add f'])
})

test.each<ChokidarOptions>(EACH)(
  'roots within roots, by depth: what one does not reach the other tells (%o)',
  async (options) => {
    const base = scratch()
    const [near, deep] = [join(base, 'a'), join(base, 'a/b/c')]
    fs.mkdirSync(deep, { recursive: true })
    fs.writeFileSync(join(deep, 'f'), '')
    const { watcher, becomes } = await following(base, [near, base, deep], { ...options, depth: 0 })
    for (const _ of [1, 2]) {
      fs.renameSync(deep, join(base, 'a/b/away'))
      await becomes('unlink a/b/c/f', 'unlinkDir a/b/c')
      fs.renameSync(join(base, 'a/b/away'), deep)
      await becomes('add a/b/c/f', 'addDir a/b/c')
    }
    fs.rmSync(near, { recursive: true })
    await becomes('unlink a/b/c/f', 'unlinkDir a', 'unlinkDir a/b', 'unlinkDir a/b/c')
    expect(watcher.getWatched()).toEqual({ [dirname(base)]: [basename(base)], [base]: [] })
  },
)

test('a root that is not there, and is one directory once it comes, whoever asks not to be told what is there', async () => {
  const base = scratch()
  const { told } = await following(base, [join(base, 'later'), base], {})
  fs.mkdirSync(join(base, 'later'))
  fs.writeFileSync(join(base, 'later/f'), '')
  expect(await told(2)).toEqual(['add later/f', 'addDir later'])
})
