import { expect, test } from 'vitest'
import { record } from './results.ts'
import { withGuest } from './suite.ts'

const STOPPED = 10_000

/** ms. A call that waits for the server would hold the loop for as long as that is stopped. */
const STALL = 50

/** Another process that wants the machine can stall one thread and not the other: not each time. */
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
  const stop = async (mirrors: number, watchers: number) => {
    const seen = await run<Seen>('stopped', { interval: 250, mirrors, watchers, ms: STOPPED })
    record('auto', `stopped, ${mirrors} mirrors, ${watchers} watchers`, seen)
    expect(seen.early, 'told of before it answered').toBe(0)
    expect(seen.told).toHaveLength(mirrors + watchers)
    return seen
  }

  test('stalls no event loop and no other watch, and all is told of once it answers', AGAIN, async () => {
    const { stall, bystander, elsewhere } = await stop(1, 1)
    expect(stall - bystander).toBeLessThan(STALL)
    expect(elsewhere.told).toBe(elsewhere.written)
    expect(elsewhere.slowest).toBeLessThan(1000)
  })

  // More of them than libuv's pool has threads.
  test("holds up none of the process's own files", AGAIN, async () => {
    const { stall, bystander, pool } = await stop(5, 2)
    expect(stall - bystander).toBeLessThan(STALL)
    expect(pool).toBeLessThan(1000)
  })
})
