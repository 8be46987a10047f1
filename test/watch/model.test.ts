import {
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { Replay, randomFrom, reality, watching } from './support.ts'

const ROUNDS = rounds(process.env.ROUNDS, { quick: 15, long: 30 })
const OPERATIONS = 200
// Few, so that they are used again and again.
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']

/** Does an operation that may be impossible, in which case it has no effect. Returns its description. */
function operate(directory: string, outside: string, random: (n: number) => number): string {
  const pick = () => NAMES[random(NAMES.length)] as string
  const [one, other] = [pick(), pick()]
  const [a, b] = [join(directory, one), join(directory, other)]
  const operations: Array<[string, () => void]> = [
    ['write', () => writeFileSync(a, `${random(1000)}`)],
    ['write', () => writeFileSync(a, '')],
    ['mkdir', () => mkdirSync(a)],
    ['symlink', () => symlinkSync(other, a)],
    ['link', () => linkSync(a, b)],
    ['chmod', () => chmodSync(a, 0o600 + random(64))],
    ['unlink', () => unlinkSync(a)],
    ['rmdir', () => rmdirSync(a)],
    ['rename', () => renameSync(a, b)],
    ['rename', () => renameSync(a, b)],
    ['rename', () => renameSync(a, b)],
    ['out', () => renameSync(a, join(outside, one))],
    ['in', () => renameSync(join(outside, one), b)],
  ]
  const [what, run] = operations[random(operations.length)] as [string, () => void]
  try {
    run()
    return `${what} ${one} ${other}`
  } catch (error) {
    return `${what} ${one} ${other}: ${(error as NodeJS.ErrnoException).code}`
  }
}

test.each(['inotify', 'poll'] as const)(
  '%s: the changes alone give the real names and kinds',
  async (backend) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
    for (let round = 0; round < ROUNDS; round++) {
      const random = randomFrom(seed + round)
      const [directory, outside] = [scratch(), scratch()]
      const { watcher, told } = await watching(directory, { backend, interval: 3 })
      const replay = new Replay()
      const log: string[] = []
      for (let i = 0; i < OPERATIONS; i++) {
        log.push(operate(directory, outside, random))
        // A turn of the loop, as often as not: the watcher looks in the midst of it.
        if (random(4) === 0) await new Promise(setImmediate)
        if (random(20) > 0 && i < OPERATIONS - 1) continue
        const changes = await told()
        replay.apply(changes)
        const context = () =>
          `SEED=${seed + round}\n${log.join('\n')}\n${changes.map((c) => JSON.stringify(c)).join('\n')}`
        expect(sorted(replay.names), context()).toEqual(sorted(reality(directory)))
        log.push('-- sync', ...changes.map((c) => JSON.stringify(c)))
      }
      await watcher.close()
      for (const path of [directory, outside]) rmSync(path, { recursive: true })
    }
  },
)

const sorted = <T>(map: Map<string, T>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1))
