import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isLong } from '../../../support/long.ts'
import { isBuilt } from '../../child.ts'
import { type Done, Session } from '../session.ts'
import { ORDINARY, type Settings } from '../settings.ts'
import { host } from '../watching/host.mjs'
import { type Observe, observe } from '../watching/observer.ts'
import { namesOf } from '../world/plant.ts'
import { snapshot } from '../world/snapshot.ts'
import { makeWorld } from '../world/world.ts'
import { hasStressNg, StressNg } from './stress_ng.ts'

// Runs stress-ng's file stressors in a tree of 200,000 entries, and stops them now and then. No difference
// may be found then.
//
// In the environment:
// MINUTES=30       the duration, 0.25 by default. With MINUTES set, each sync() must be quick
// SETTINGS='{...}' see settings.ts

const minutes = Number(process.env.MINUTES ?? 0.25)
const given: Partial<Settings> = JSON.parse(process.env.SETTINGS ?? '{}')

// Twelve stressors share the processors between two stops, and sync() waits for the watcher's work that they
// left undone.
const BETWEEN_STOPS_MS = 3000
const LONGEST_SYNC_MS = 2000
const NS_PER_MS = 1e6

/**
 * Returns watchers of the built library, as its users run it: the sources under a test runner are slower, and
 * this test measures time.
 */
async function observeBuilt(): Promise<Observe> {
  const { built } = await import('../watching/built.mjs')
  return (watched, tell) => host(built, watched, tell)
}

/** Takes the writes from the times of the files, because stress-ng does not report its writes. */
function doneIn(tree: string, settings: Settings): Done {
  const files = [...snapshot(tree, { names: namesOf(settings) }).values()].filter(
    ({ kind }) => kind === 'file',
  )
  return {
    linked: new Set(files.filter(({ nlink }) => nlink > 1n).map(({ ino }) => ino)),
    wrote: new Map(files.map(({ ino, mtime }) => [ino, Number(mtime) / NS_PER_MS])),
    renamed: undefined,
  }
}

const isAsked = isLong || process.env.MINUTES !== undefined
const whyNot = hasStressNg ? (isAsked ? '' : ': npm run test:long') : ': needs stress-ng'

test.skipIf(whyNot !== '')(
  `${minutes} minutes of stress-ng in 200,000 entries${whyNot}`,
  { timeout: minutes * 60_000 * 5 + 300_000 },
  async () => {
    // Some of stress-ng's names are not UTF-8.
    const settings: Settings = { ...ORDINARY, shape: 'large', encoding: 'buffer', ...given }
    await using world = await makeWorld(settings)
    await using session = new Session(
      world,
      settings,
      isBuilt && settings.host === 'here' ? await observeBuilt() : observe,
    )
    await session.start(false)
    await using stress = new StressNg(world.tree)
    const end = Date.now() + minutes * 60_000
    const syncs: number[] = []
    while (Date.now() < end) {
      await sleep(BETWEEN_STOPS_MS)
      expect(stress.isAlive).toBe(true)
      await stress.stop()
      const began = performance.now()
      await session.sync()
      syncs.push(Math.round(performance.now() - began))
      await session.settle(doneIn(world.tree, settings))
      expect(session.wrong.join('\n')).toBe('')
      stress.goOn()
    }
    const { told, overflows } = session
    process.stdout.write(
      `${JSON.stringify({ stops: syncs.length, told, overflows, syncs: syncs.toSorted((a, b) => b - a).slice(0, 20) })}\n`,
    )
    // A short run beside other work would measure the machine.
    if (process.env.MINUTES !== undefined) expect(Math.max(...syncs)).toBeLessThan(LONGEST_SYNC_MS)
  },
)
