import { codeOf } from './call_error.ts'
import { LOCK_EX, LOCK_NB, type SyscallThread } from './syscall_thread.ts'

/** Takes the lock that says "I am at it", which the kernel gives back however the process ends, in whatever container. */
export async function tryLock(calls: SyscallThread, fd: number): Promise<'ours' | 'taken' | 'no locks here'> {
  try {
    await calls.lock(fd, LOCK_EX | LOCK_NB)
    return 'ours'
  } catch (error) {
    return codeOf(error) === 'EAGAIN' ? 'taken' : 'no locks here'
  }
}
