/**
 * Says that a thread has been left to a call that nobody answers, and that not even SIGKILL would end.
 *
 * @param where the path that was looked at
 */
export function warnOfThreadLeftBehind(where: string, ms: number): void {
  const seconds = Math.round(ms / 100) / 10
  process.emitWarning(`a thread is left behind: ${where} has not answered for ${seconds} s`, {
    type: 'InotifyBridgeWarning',
    code: 'INOTIFY_BRIDGE_LEFT_BEHIND',
    detail: 'The server of its mount has stopped. The thread ends when it answers, or with the process.',
  })
}
