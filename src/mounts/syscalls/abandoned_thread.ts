import { warn } from '../../warning.ts'

/**
 * Says that a thread has been left to a call that nobody answers, and that not even SIGKILL would end.
 *
 * @param where the path that was looked at
 */
export function warnOfAbandonedThread(where: string, ms: number): void {
  const seconds = Math.round(ms / 100) / 10
  warn(
    'INOTIFY_BRIDGE_LEFT_BEHIND',
    `a thread is left behind: ${where} has not answered for ${seconds} s`,
    'The server of its mount has stopped. The thread ends when it answers, or with the process.',
  )
}
