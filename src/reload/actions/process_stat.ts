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

/**
 * The process that has this pid; undefined if there is none, or one that has ended and is not yet waited for.
 *
 * @throws {InotifyError} EACCES: there is one, and it may not be looked at
 */
export function processOf(pid: number): Process | undefined {
  const text = statOf(pid)
  if (text !== undefined) return parseStat(text)
  if (!isThere(pid)) return undefined
  // It may have been started between the two looks.
  const late = statOf(pid)
  if (late !== undefined) return parseStat(late)
  if (isThere(pid)) throw hidden(pid)
  return undefined
}

/** undefined where nothing is to be seen: under hidepid=2 (proc(5)) of another user's process neither. */
function statOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (['ENOENT', 'ESRCH'].includes(code)) return undefined
    // hidepid=1.
    if (['EPERM', 'EACCES'].includes(code)) throw hidden(pid)
    throw error
  }
}

/** Whether there is one for the kernel: kill(2) says so of others' as well. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function hidden(pid: number): InotifyError {
  const hint = `process ${pid} may not be looked at: /proc shows none of other users' here (hidepid); run as its user or as root, or in the group of its gid=`
  return new InotifyError({ errno: 'EACCES', syscall: 'reload', hint })
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
 * @throws {InotifyError} ESRCH: nobody has it; EACCES: it may not be looked at
 */
export function requireProcess(pid: number): Process {
  const found = processOf(pid)
  if (found !== undefined) return found
  const hint = `no process has the pid ${pid}: it must run when the reload begins`
  throw new InotifyError({ errno: 'ESRCH', syscall: 'reload', hint })
}
