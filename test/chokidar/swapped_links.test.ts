// A link that a deployment replaces: 'change' once for a link to a file. For a link to a directory
// 'unlinkDir' and 'addDir', or neither.
import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import chokidar from '../../src/entries/chokidar.ts'
import { scratch } from '../support/scratch.ts'

const HOW = ['unlink and symlink', 'rename from elsewhere', 'rename from beside it'] as const
const KINDS = ['file', 'directory'] as const

const cases = [false, true].flatMap((usePolling) =>
  [true, false].flatMap((followSymlinks) =>
    HOW.flatMap((how) =>
      KINDS.flatMap((from) => KINDS.map((to) => ({ usePolling, followSymlinks, how, from, to }))),
    ),
  ),
)

test.for(cases)('$how, polled: $usePolling, followed: $followSymlinks, from a $from to a $to', async (it) => {
  const base = scratch()
  const at = (path: string) => join(base, path)
  for (const each of ['store', 'conf']) mkdirSync(at(each))
  for (const [i, kind] of [it.from, it.to].entries()) {
    if (kind === 'file') writeFileSync(at(`store/${i}`), `${i}`)
    else {
      mkdirSync(at(`store/${i}`))
      for (const name of ['both', `only-${i}`]) writeFileSync(at(`store/${i}/${name}`), '')
    }
  }
  symlinkSync('../store/0', at('conf/l'))
  // The clock that stamps files must be past all that was done above.
  await new Promise((resolve) => setTimeout(resolve, 60))
  const { usePolling, followSymlinks } = it
  const watcher = chokidar.watch(at('conf'), {
    ignoreInitial: true,
    usePolling,
    followSymlinks,
    interval: 20,
  })
  onTestFinished(() => watcher.close())
  await new Promise<void>((resolve) => watcher.on('ready', resolve))
  const told: string[] = []
  watcher.on('all', (event, path) => told.push(`${event} ${path.slice(at('conf/').length)}`))
  if (it.how === 'unlink and symlink') {
    unlinkSync(at('conf/l'))
    symlinkSync('../store/1', at('conf/l'))
  } else {
    const made = at(it.how === 'rename from elsewhere' ? 'new' : 'conf/new')
    symlinkSync('../store/1', made)
    renameSync(made, at('conf/l'))
  }
  // Waits for a later change, so that all events before have come.
  const isOver = async (name: string) => {
    writeFileSync(at(`conf/${name}`), '')
    await expect.poll(() => told, { timeout: 20_000, interval: 5 }).toContain(`add ${name}`)
  }
  await isOver('z1')
  await new Promise((resolve) => setTimeout(resolve, 150))
  await isOver('z2')
  const ofLink = told.filter((each) => each.endsWith(' l')).map((each) => each.split(' ')[0])
  const isFile = !followSymlinks || (it.from === 'file' && it.to === 'file')
  if (isFile) expect(ofLink).toEqual(['change'])
  // The events count up to one entry.
  const count = (event: string) => ofLink.filter((each) => each === event).length
  const [from, to] = [it.from, it.to].map((kind) => Number(followSymlinks && kind === 'directory'))
  expect(count('addDir') - count('unlinkDir'), `${told}`).toBe((to as number) - (from as number))
  expect(count('add') - count('unlink'), `${told}`).toBe((from as number) - (to as number))
})
