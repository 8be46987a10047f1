import { tell } from './output.ts'

/** The time, in seconds, within which something must come, from the last `restart()` on; 0: no such time. */
export function deadline(seconds: number, what: string, expire: () => void) {
  let timer: NodeJS.Timeout | undefined
  let isLate = false
  const stop = () => clearTimeout(timer)
  return {
    stop,
    restart() {
      stop()
      if (seconds === 0) return
      timer = setTimeout(() => {
        isLate = true
        expire()
      }, seconds * 1000)
    },
    /** Returns the exit code, and says what has not come in time. */
    end(): number {
      stop()
      if (isLate) tell(`no ${what} within ${seconds} s`)
      return Number(isLate)
    },
  }
}
