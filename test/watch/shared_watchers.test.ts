// Watchers of one thread share an inotify instance: each watcher tells the same as with an instance of its
// own, whatever the others watch.
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Inotify } from '../../src/index.ts'
import { watch } from '../../src/watch/calls.ts'
import { Watcher } from '../../src/watch/watcher.ts'
import { openInstances } from '../support/descriptors.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { randomFrom, story, watching } from './support.ts'

const NAMES = ['a', 'b', 'c']

test('while others watch the same, come and go, a watcher is told what one by itself is told', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
  for (let round = 0; round < rounds(process.env.ROUNDS, { quick: 5, long: 10 }); round++) {
    const random = randomFrom(seed + round)
    const base = scratch()
    const paths = ['', ...NAMES, ...NAMES.map((name) => `a/${name}`)].map((path) => join(base, path))
    const path = () => paths[random(paths.length)] as string
    for (const each of paths) mkdirSync(each, { recursive: true })
    const options = { recursive: true, backend: 'inotify' } as const
    const shared = await watching(base, options)
    const alone = await watching(base, options, { openInotify: (each) => new Inotify(each) })
    const others = Array.from({ length: 3 }, () => new Watcher([], options))
    const log = [`SEED=${seed + round}`]
    const act = (at: number) => {
      const [one, other, name] = [path(), path(), `${random(4)}`]
      const acts: Array<[string, () => unknown]> = [
        ['mkdir', () => mkdirSync(one, { recursive: true })],
        ['mkdir', () => mkdirSync(one, { recursive: true })],
        ['write', () => writeFileSync(join(one, name), `${at}`)],
        ['write', () => writeFileSync(join(one, name), `${at}`)],
        ['remove', () => rmSync(one, { recursive: true })],
        ['rename', () => renameSync(one, other)],
        ['rename', () => renameSync(join(one, name), join(other, name))],
      ]
      const [what, run] = acts[random(acts.length)] as [string, () => unknown]
      // Paths that are roots stay.
      if (one === base || other === base) return
      log.push(`${what} ${one} ${other} ${name}`)
      try {
        run()
      } catch (error) {
        log.push((error as Error).message)
      }
    }
    const disturb = () => {
      const i = random(others.length)
      const watcher = others[i] as Watcher<string>
      const [at, which] = [random(8) > 0 ? path() : join(path(), `${random(4)}`), random(3)]
      log.push(`${['add', 'remove', 'close'][which]} ${i} ${at}`)
      if (which === 0) void watcher.add(at).catch(() => {})
      else if (which === 1) void watcher.remove(at).catch(() => {})
      else {
        void watcher.close()
        others[i] = new Watcher(path(), options)
      }
      others[i]?.ready.catch(() => {})
    }
    for (let i = 0; i < 100; i++) {
      const isBurst = random(10) === 0
      for (let n = isBurst ? 20 : 1; n > 0; n--) {
        if (random(3) > 0) disturb()
        act(i)
        if (random(3) === 0) disturb()
      }
      log.push('-- sync')
      const [told, toldAlone] = [await shared.told(), await alone.told()]
      const context = log.join('\n')
      if (!isBurst) expect(story(told, base), context).toEqual(story(toldAlone, base))
      const namesOf = ({ watcher }: typeof shared) =>
        [...watcher.entries()].map(({ path, kind }) => `${kind} ${path}`).toSorted()
      expect(namesOf(shared), context).toEqual(namesOf(alone))
    }
    await Promise.all([shared.watcher, alone.watcher, ...others].map((each) => each.close()))
    // Watchers that were closed on the way end in their own time.
    await expect.poll(openInstances).toBe(0)
  }
})

test('a watcher that begins later is not told what was done before, though another has yet to read it', async () => {
  const base = scratch()
  const file = join(base, 'f')
  writeFileSync(file, '')
  const options = { backend: 'inotify' } as const
  await watching(base, options)
  for (let i = 0; i < 10; i++) {
    appendFileSync(file, 'before')
    const watcher = watch([base, file][i % 2] as string, options)
    const told: string[] = []
    watcher.on('changes', (changes) => told.push(...changes.map(({ type }) => type)))
    await watcher.sync()
    expect(told).toEqual([])
    await watcher.close()
  }
})
