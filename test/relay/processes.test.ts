// The relay is a process: killed at any moment, or with a reader that stands still, nothing is lost and nothing is invented.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Change } from '../../src/index.ts'
import { Run } from '../cli/command.ts'
import { freePort } from '../integration/programs.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { stop } from '../support/stopped.ts'
import { Replay, randomFrom, reality } from '../watch/support.ts'
import { watchingTree } from '../watch/tree.ts'
import { TRUSTED } from './support.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/cli.js'))
const plant = (at: (path: string) => string) => void mkdirSync(at('a/b'), { recursive: true })

const KILLS = rounds(process.env.KILLS, { quick: 6, long: 25 })
const INTERVAL = 500
/** ms that a pass may take on a machine that is busy; a relay that was not missed would cost 30 s. */
const PASS_MS = 5000
/** Kills between comparisons. */
const EACH = 5
/** Comparisons one after another. */
const LOOKS = 4

test.skipIf(!isBuilt).each<[string, number, () => string | Promise<string>, string]>([
  ['a socket', 1, () => `unix:${scratch()}/relay`, ''],
  ['TCP', 2, async () => `tcp:127.0.0.1:${await freePort()}`, 'secret'],
])(`killed ${KILLS} times, over %s: all is told (needs dist)`, async (_, seed, listen, token) => {
  vi.stubEnv('INOTIFY_BRIDGE_RELAY_TOKEN', token)
  onTestFinished(() => void vi.unstubAllEnvs())
  const random = randomFrom(seed)
  const relay = await listen()
  const tree = await watchingTree(plant, { backend: 'poll', interval: INTERVAL, relay }, {}, '/dev/shm')
  tree.watcher.on('error', () => {})
  const why = () => tree.watcher.coverage()[0]?.why ?? ''
  const start = () => new Run(['relay', '--listen', relay, tree.root])
  const writer = spawn(process.execPath, [join(import.meta.dirname, 'acts.mjs'), tree.root, `${seed}`])
  onTestFinished(() => void writer.kill('SIGKILL'))
  for (let kill = 1; kill <= KILLS; kill++) {
    const running = start()
    // Some time passes until the watcher polls seldom, and the relay is killed before and after.
    if (kill % 2 === 0) await expect.poll(why).toMatch(TRUSTED)
    await sleep(random(1500))
    running.kill('SIGKILL')
    await running.exited()
    const path = tree.at(`after-${kill}`)
    const began = performance.now()
    const told = tree.watcher.next({ path })
    mkdirSync(path)
    await told
    expect(performance.now() - began).toBeLessThan(INTERVAL + PASS_MS)
    if (kill % EACH > 0 && kill < KILLS) continue
    const last = start()
    await expect.poll(why).toMatch(TRUSTED)
    // What was told by hints counts, and no poll of sync().
    for (let look = 0; look < LOOKS; look++) {
      await sleep(random(500))
      await stop(writer)
      await tree.agrees()
      writer.kill('SIGCONT')
    }
    last.kill('SIGKILL')
    await last.exited()
  }
})

test.skipIf(!isBuilt)(
  'a watcher that was too busy to read does not count the relay as silent (needs dist)',
  async () => {
    const relay = `unix:${scratch()}/relay`
    const tree = await watchingTree(plant, { backend: 'poll', interval: 1_000_000, relay }, {}, '/dev/shm')
    await new Run(['relay', '--listen', relay, tree.root]).until('stderr', /listening on/)
    await expect.poll(() => tree.watcher.coverage()[0]?.why).toMatch(TRUSTED)
    const errors: Error[] = []
    tree.watcher.on('error', (error) => errors.push(error))
    for (const began = performance.now(); performance.now() - began < 4000; );
    // A turn of the timers: that of the silence is due.
    await sleep(0)
    await tree.agrees()
    expect(errors).toEqual([])
    expect(tree.watcher.coverage()[0]?.why).toMatch(TRUSTED)
  },
)

test.skipIf(!isBuilt).each([
  ['for a moment', 0],
  ['for longer than a relay may be silent', 3500],
])('a reader that stands still %s holds up nobody, and is told all (needs dist)', async (_, ms) => {
  const relay = `unix:${scratch()}/relay`
  const options = { backend: 'poll', interval: 1_000_000, relay } as const
  const tree = await watchingTree(plant, options, {}, '/dev/shm')
  await new Run(['relay', '--listen', relay, tree.root]).until('stderr', /listening on/)
  await expect.poll(() => tree.watcher.coverage()[0]?.why).toMatch(TRUSTED)
  const args = ['-mr', '--json', '--backend', 'poll', '--interval', '100000', '--relay', relay, tree.root]
  const slow = await Run.watching(args)
  writeFileSync(tree.at('first'), '')
  await slow.until('stdout', /first/)
  await stop(slow)
  // 2 MB of names and more, of which the relay keeps one.
  const name = (n: number) => tree.at(`${n}`.padEnd(250, '-'))
  for (let i = 0; i < 8000; i++) writeFileSync(name(i), '')
  for (let i = 0; i < 8000; i += 4) rmSync(name(i))
  for (let i = 1; i < 8000; i += 4) renameSync(name(i), name(-i))
  await tree.agrees()
  await sleep(ms)
  slow.kill('SIGCONT')
  const told = () => {
    const replay = new Replay()
    for (const name of ['a', 'a/b']) replay.names.set(tree.at(name), 'directory')
    replay.apply(slow.objects as unknown as Change[])
    replay.names.delete(tree.at('a/b'))
    return replay.names
  }
  // Long before the next poll of a relay that is trusted.
  await expect.poll(told, { interval: 200, timeout: 20_000 }).toEqual(reality(tree.root))
})
