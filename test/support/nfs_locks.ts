import { fstatSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { onTestFinished, vi } from 'vitest'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { LOCK_EX, SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'

/**
 * Until the end of the test, an exclusive lock of a file needs a descriptor that may write, as on NFS:
 * nfs4_proc_lock() in fs/nfs/nfs4proc.c.
 */
export function locksAsOnNfs(): void {
  const { lock } = SyscallThread.prototype
  const spy = vi.spyOn(SyscallThread.prototype, 'lock')
  onTestFinished(() => spy.mockRestore())
  spy.mockImplementation(async function (this: SyscallThread, fd, operation) {
    const [, flags = ''] = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? []
    const isWritable = (Number.parseInt(flags, 8) & 3) !== 0
    if ((operation & LOCK_EX) !== 0 && !isWritable && fstatSync(fd).isFile())
      throw new CallError(constants.errno.EBADF, 'flock')
    await lock.call(this, fd, operation)
  })
}
