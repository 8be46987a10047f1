import { expect, test } from 'vitest'
import { type Requests, total } from './requests_log.ts'
import { median, record } from './results.ts'
import { withGuest } from './suite.ts'

withGuest('what a virtiofsd is asked for', { cache: 'auto', verbose: true }, (run) => {
  test('by a mirror of a ConfigMap at rest: once a pass', async () => {
    const passes = await run<Requests[]>('requests', { interval: 250, keys: 8, passes: 32 })
    const totals = passes.map(total)
    record('auto', 'requests for a pass', {
      passes: passes.length,
      median: median(totals),
      most: Math.max(...totals),
    })
    for (const count of new Set(totals)) {
      record('auto', `a pass of ${count}`, passes.find((pass) => total(pass) === count) ?? {})
    }
    expect(median(totals)).toBe(1)
  })
})
