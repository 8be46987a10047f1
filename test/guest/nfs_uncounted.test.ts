import { expect, test } from 'vitest'
import { record } from './results.ts'
import { withGuest } from './suite.ts'

// The NFS client lists a directory anew when its change attribute differs. A server whose file system counts
// no changes sends a time instead: of two changes at one time, a client that only lists never sees the
// second.
withGuest('NFS 4.2, of a server that counts no changes', { cache: 'auto', nfs: true }, (run) => {
  const mount = { type: 'nfs4', options: 'vers=4.2', exported: 'vfat' }
  // An open directory has not changed either. A mirror finds the file because it reads everything while times
  // of a whole second are young. A poll always reads everything.
  for (const [by, bound] of [
    ['mirror', 5000],
    ['watch', 2000],
  ] as const) {
    test(`a file that was created at the same time as another is seen by ${by}() within ${bound} ms`, async () => {
      const { latency } = await run<{ latency: number }>('same_time', { mount, by, interval: 250 })
      record('nfs', `second change at one time, ${by}()`, { latency: Math.round(latency) })
      expect(latency).toBeLessThanOrEqual(bound)
    })
  }
})
