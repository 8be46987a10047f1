import { constants } from 'node:fs'
import { codeOf } from './call_error.ts'
import { HeldFile } from './directory_handle.ts'
import { LOCK_EX, LOCK_NB, type SyscallThread } from './syscall_thread.ts'

/**
 * Opens what is held, a regular file of this library's own, to be locked: to be written, since on NFS an exclusive lock of a descriptor that only
 * reads is EBADF (flock(2), NOTES: it is a POSIX lock there), by which nobody would learn that another has it. The very inode: by its name it
 * could be another by now.
 */
export async function openToLock({ calls, fd }: HeldFile): Promise<HeldFile> {
  // O_NONBLOCK: a lease that somebody holds on it is EAGAIN, not a wait.
  return new HeldFile(
    calls,
    await calls.open(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK),
  )
}

/** Takes the lock that says "I am at it", which the kernel gives back however the process ends, in whatever container. */
export async function tryLock(calls: SyscallThread, fd: number): Promise<'ours' | 'taken' | 'no locks here'> {
  try {
    await calls.lock(fd, LOCK_EX | LOCK_NB)
    return 'ours'
  } catch (error) {
    return codeOf(error) === 'EAGAIN' ? 'taken' : 'no locks here'
  }
}
