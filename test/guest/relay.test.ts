import { expect, test } from 'vitest'
import type { Requests } from './requests_log.ts'
import { isKept, median, record, summary } from './results.ts'
import { withGuest } from './suite.ts'

interface Relayed {
  latencies: number[]
  /** Half of the fastest round trip between guest and host, ms. */
  error: number
  requests: Requests[]
  ready: number
  trusted: number
  errors: string[]
  isTrusted: boolean
}

withGuest('a share with a relay', { cache: 'auto', verbose: true, relay: true }, (run) => {
  // virtiofsd keeps a descriptor for each file, and mostly may have 20,000.
  const files = isKept ? 19_000 : 4000
  test('a change at the host is told by the relay, and a quiet share is asked for nothing', async () => {
    const parameters = { files, rounds: 5, quiet: 5000 }
    const told = await run<Relayed>('relay', parameters, 150_000)
    const { latencies, error, requests, ready, trusted, errors, isTrusted } = told
    const round = Math.round
    record('relay', `${files} files, polled every 60 s`, {
      ...summary(latencies),
      roundTrip: round(2 * error),
      ready: round(ready),
      trusted: round(trusted),
      errors: errors.length,
    })
    expect(isTrusted).toBe(true)
    expect(requests).toEqual([])
    // A poll would take 30 s on the average, and a pass here some seconds.
    expect(median(latencies)).toBeLessThan(1000)
  })
})
