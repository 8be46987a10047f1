// Hints come late, while directories move on: nothing is lost, and nothing is invented.
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { RelayListener } from '../../src/relay/relay_client.ts'
import { rounds } from '../support/long.ts'
import { randomFrom } from '../watch/support.ts'
import { watchingTree } from '../watch/tree.ts'
import { TRUSTED } from './support.ts'

const ROUNDS = rounds(process.env.ROUNDS, { quick: 20, long: 120 })
const POLLS = [
  { interval: 1_000_000 },
  { interval: 20 },
  { interval: 20, pollBudget: { requests: 3000 } },
] as const
const NAMES = ['a', 'a/b', 'a/b/c', 'd', 'd/e', 'f', 'a/f', 'a/b/g']

/** The hints of a relay that tells of them as late as the test likes. */
class LateHints {
  readonly #waiting: string[][] = []
  readonly #random: (n: number) => number
  #delivered = Promise.resolve()
  listener: RelayListener | undefined

  constructor(random: (n: number) => number) {
    this.#random = random
  }

  /** Takes the place of the client of a relay. */
  open(listener: RelayListener) {
    this.listener = listener
    return {
      sync: async () => {
        await this.deliver(Number.POSITIVE_INFINITY)
        return true
      },
      close: () => {},
    }
  }

  add(...paths: string[]): void {
    this.#waiting.push(paths)
  }

  /** Tells of so many changes more, some of them together. */
  deliver(count: number): Promise<void> {
    this.#delivered = this.#delivered.then(async () => {
      for (let left = count; left > 0 && this.#waiting.length > 0; ) {
        const some = this.#waiting.splice(0, Math.min(left, 1 + this.#random(3)))
        left -= some.length
        await this.listener?.hints([...new Set(some.flat())])
      }
    })
    return this.#delivered
  }
}

test.each(Array.from({ length: ROUNDS }, (_, i) => i + 1))('seed %d', async (seed) => {
  const random = randomFrom(seed)
  const hints = new LateHints(random)
  const tree = await watchingTree(
    (at) => void mkdirSync(at('a/b'), { recursive: true }),
    { backend: 'poll', relay: 'unix:/nowhere', ...POLLS[seed % POLLS.length] },
    { openRelay: (_, listener) => hints.open(listener) },
    '/dev/shm',
  )
  hints.listener?.gap()
  await expect.poll(() => tree.watcher.coverage()[0]?.why).toMatch(TRUSTED)
  for (let i = 0; i < 400; i++) {
    const [one, other] = [NAMES[random(NAMES.length)] ?? '', NAMES[random(NAMES.length)] ?? '']
    const acts = [
      () => {
        const first = mkdirSync(tree.at(one), { recursive: true })
        for (let path = one; first !== undefined && tree.at(path).length >= first.length; ) {
          hints.add(path)
          path = path.slice(0, path.lastIndexOf('/'))
        }
      },
      () => {
        writeFileSync(tree.at(one), `${random(1000)}`)
        hints.add(one)
      },
      () => {
        renameSync(tree.at(one), tree.at(other))
        hints.add(one, `${other}/`)
      },
      () => {
        const below = allBelow(tree.at(one))
        rmSync(tree.at(one), { recursive: true })
        for (const name of below) hints.add(`${one}/${name}`)
        hints.add(one)
      },
    ]
    try {
      acts[random(acts.length)]?.()
    } catch {
      // It cannot be.
    }
    const delivered = random(3) === 0 ? hints.deliver(random(4)) : undefined
    if (random(4) === 0) await setImmediate()
    if (random(2) === 0) await delivered
    if (random(12) === 0) hints.listener?.gap()
    if (random(60) === 0) await tree.agrees()
  }
  await tree.agrees()
})

/** Returns the paths of all below a directory, the deepest first. */
function allBelow(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, encoding: 'utf8' }).reverse()
  } catch {
    return []
  }
}
