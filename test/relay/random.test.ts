// Random changes while the relay goes and comes back at any moment: nothing is lost, and nothing is invented.
import { mkdirSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { test } from 'vitest'
import { rounds } from '../support/long.ts'
import { randomFrom } from '../watch/support.ts'
import { watchingTree } from '../watch/tree.ts'
import { act } from './acts.mjs'
import { TestRelay } from './support.ts'

const ROUNDS = rounds(process.env.ROUNDS, { quick: 4, long: 50 })

test.each(Array.from({ length: ROUNDS }, (_, i) => i + 1))('seed %d', async (seed) => {
  const random = randomFrom(seed)
  const relay = new TestRelay()
  const interval = [20, 1000][seed % 2] as number
  const options = { backend: 'poll', interval, relay: relay.address } as const
  const plant = (at: (path: string) => string) => void mkdirSync(at('a/b'), { recursive: true })
  const tree = await watchingTree(plant, options, {}, '/dev/shm')
  for (let i = 0; i < 400; i++) {
    act(tree.root, random)
    if (random(4) === 0) await setImmediate()
    if (random(40) === 0) await relay.stop()
    if (random(20) === 0) await relay.start(tree.root)
    if (random(60) === 0) await tree.agrees()
  }
  await tree.agrees()
})
