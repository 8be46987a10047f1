import { describe } from 'vitest'
import { changes, swaps } from './promised.ts'
import { type Run, withGuest } from './suite.ts'

// The cache mode that Kata had with 9p. In `loose` the guest's kernel never asks again for what it knows, and
// no call makes it ask.
withGuest('9p, cache=mmap', { cache: 'none', ninep: true }, (run) => {
  const mount = { type: '9p', source: 'nine', options: 'trans=virtio,version=9p2000.L,cache=mmap' }
  const onNine: Run = (scenario, parameters, deadline) => run(scenario, { ...parameters, mount }, deadline)
  describe("the kubelet's swap", () => swaps('9p mmap', onNine, { intervals: [250] }))
  // The guest's own changes give no events there either.
  describe('watch()', () => changes('9p mmap', onNine, 'poll'))
})
