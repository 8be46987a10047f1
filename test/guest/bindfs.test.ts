import { describe } from 'vitest'
import { changes, remembered, swaps } from './promised.ts'
import { type Run, withGuest } from './suite.ts'

// A file system in user space with another server than virtiofsd, which answers in the guest itself. The
// guest's kernel caches an answer for a second, and no message ends that.
withGuest('bindfs', { cache: 'auto', program: 'bindfs' }, (run) => {
  const mount = { type: 'bindfs', options: '' }
  const onBindfs: Run = (scenario, parameters, deadline) => run(scenario, { ...parameters, mount }, deadline)
  remembered('bindfs', onBindfs, 800)
  describe("the kubelet's swap behind it", () => swaps('bindfs', onBindfs, { intervals: [250] }))
  describe('watch()', () => changes('bindfs', onBindfs))
})
