import { expect, test } from 'vitest'
import { record } from './results.ts'
import { withGuest } from './suite.ts'

const STOPPED = 10_000

/** ms. A call that waits for the server would hold the loop for as long as that is stopped. */
const STALL = 50

/** Another process can stall one thread and not the other, but not each time. */
const AGAIN = { retry: 2 }

withGuest('a virtiofsd that does not answer for 10 s', { cache: 'auto' }, (run) => {
  interface Seen {
    stall: number
    bystander: number
    pool: number
    elsewhere: { written: number; told: number; slowest: number }
    early: number
    told: string[]
    after: number
  }

  // More mirrors than libuv's pool has threads.
  const [mirrors, watchers] = [5, 2]
  test(
    "stalls no event loop, no other watch and none of the process's own files, and all is told of once it answers",
    AGAIN,
    async () => {
      const seen = await run<Seen>('stopped', { interval: 250, mirrors, watchers, ms: STOPPED })
      record('auto', `stopped, ${mirrors} mirrors, ${watchers} watchers`, seen)
      const { stall, bystander, elsewhere, pool } = seen
      expect(seen.early, 'told of before it answered').toBe(0)
      expect(seen.told).toHaveLength(mirrors + watchers)
      expect(stall - bystander).toBeLessThan(STALL)
      expect(elsewhere.told).toBe(elsewhere.written)
      expect(elsewhere.slowest).toBeLessThan(1000)
      expect(pool).toBeLessThan(1000)
    },
  )
})
