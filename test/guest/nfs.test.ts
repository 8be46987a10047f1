import { describe, expect, test } from 'vitest'
import { changes, remembered, swaps } from './promised.ts'
import { type Run, withGuest } from './suite.ts'

// Client and server are one kernel, and changes are made on the server's side.
withGuest('NFS 4.2', { cache: 'auto', nfs: true, program: 'mkfs.ext4' }, (run) => {
  // The server, the client and who makes the change share one interpreted processor: a swap takes 35 ms there, the pass that finds it
  // 130, and several times that on a busy machine. What is bounded is far below what such a mount remembers: 3 s of a file, 30 of a
  // directory.
  const pace = { intervals: [250], more: 1000 }
  const mount = { type: 'nfs4', options: 'vers=4.2' }
  const onNfs: Run = (scenario, parameters, deadline) => run(scenario, { ...parameters, mount }, deadline)
  remembered('nfs', onNfs, 2500)
  test('a second mirror of a target there is refused: its locks are POSIX locks, of descriptors that may write', async () => {
    expect(await onNfs('locks', {})).toEqual({ second: 'EBUSY' })
  })
  describe("the kubelet's swap behind it", () => swaps('nfs', onNfs, pace))
  describe('watch()', () => changes('nfs', onNfs, 'inotify+poll', pace))
})
