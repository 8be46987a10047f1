import { readFileSync } from 'node:fs'
import { InotifyError } from '../../errors.ts'

/** A process as /proc/PID/stat has it. A pid comes again, but not with the same start. */
export interface Process {
  readonly pid: number
  /** The name that it runs under: the first 15 bytes of its executable's, unless it has given itself another. */
  readonly comm: string
  readonly parent: number
  readonly group: number
  /** Clock ticks after the system's start. */
  readonly start: number
}

/** The process that has this pid; undefined if there is none, or one that has ended and is not yet waited for. */
export function processOf(pid: number): Process | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
  return parseStat(text)
}

/** @param text the line of /proc/PID/stat; undefined for a zombie */
export function parseStat(text: string): Process | undefined {
  // The name, in parentheses, may hold anything: `a) S 1 (b`.
  const [open, close] = [text.indexOf('('), text.lastIndexOf(')')]
  const fields = text.slice(close + 2).split(' ')
  const [state, parent, group] = fields
  if (state === 'Z' || state === 'X') return undefined
  return {
    pid: Number(text.slice(0, open - 1)),
    comm: text.slice(open + 1, close),
    parent: Number(parent),
    group: Number(group),
    start: Number(fields[19]),
  }
}

/**
 * The process that has this pid.
 *
 * @throws {InotifyError} ESRCH: nobody has it
 */
export function requireProcess(pid: number): Process {
  const found = processOf(pid)
  if (found !== undefined) return found
  const hint = `no process has the pid ${pid}: it must run when reload() is called`
  throw new InotifyError({ errno: 'ESRCH', syscall: 'reload', hint })
}
