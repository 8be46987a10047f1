/** Calls `expire` when it has not been restarted for so many seconds; never, where they are 0. */
export function deadline(seconds: number, expire: () => void) {
  let timer: NodeJS.Timeout | undefined
  const stop = () => clearTimeout(timer)
  const restart = () => {
    stop()
    if (seconds > 0) timer = setTimeout(expire, seconds * 1000)
  }
  return { stop, restart }
}
