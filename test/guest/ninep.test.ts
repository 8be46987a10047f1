import { describe } from 'vitest'
import { changes, swaps } from './promised.ts'
import { type Run, withGuest } from './suite.ts'

// Of its cache modes the one that Kata had with it. In `loose` the guest's kernel never asks for what it knows already, and
// nothing makes it.
withGuest('9p, cache=mmap', { cache: 'none', ninep: true }, (run) => {
  const mount = { type: '9p', source: 'nine', options: 'trans=virtio,version=9p2000.L,cache=mmap' }
  const onNine: Run = (scenario, parameters, deadline) => run(scenario, { ...parameters, mount }, deadline)
  describe("the kubelet's swap", () => swaps('9p mmap', onNine, { intervals: [250] }))
  // Not even the guest's own changes give events there.
  describe('watch()', () => changes('9p mmap', onNine, 'poll'))
})
