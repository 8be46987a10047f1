import { expect, test } from 'vitest'
import { record } from './results.ts'
import { withGuest } from './suite.ts'

// NFS's client asks for a listing anew when the directory's change attribute differs. A server whose file system counts no changes gives
// a time for that: of two changes at one time, the second is never seen by those who just list it.
withGuest('NFS 4.2, of a server that counts no changes', { cache: 'auto', nfs: true }, (run) => {
  const mount = { type: 'nfs4', options: 'vers=4.2', exported: 'vfat' }
  // What is held open has not changed either: a mirror finds it as it looks at everything while times of a whole second are young. A poll always does.
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
