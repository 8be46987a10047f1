import { readFileSync } from 'node:fs'
import { InotifyError } from '../../errors.ts'

/** A process as /proc/PID/stat has it. The kernel reuses a pid, but not with the same start. */
export interface Process {
  readonly pid: number
  /** The name that it runs under: the first 15 bytes of its executable's, unless it has given itself another. */
  readonly comm: string
  readonly parent: number
  readonly group: number
  /** The start in clock ticks after the system's start. */
  readonly start: number
}

/**
 * Returns the process with this pid; undefined if there is none, or a zombie.
 *
 * @throws {InotifyError} EACCES: there is one, and it may not be looked at
 */
export function processOf(pid: number): Process | undefined {
  // Twice: the process may have been started between the two questions.
  for (let looks = 0; looks < 2; looks++) {
    const text = procFile(pid, 'stat')
    if (text !== undefined) return parseStat(text)
    if (!kill(pid, 0)) return undefined
  }
  throw hidden(pid)
}

/**
 * Returns a file of /proc/PID; undefined if nothing is to be seen, as with hidepid=2 (proc(5)) for another user's process.
 *
 * @throws {InotifyError} EACCES, as with hidepid=1
 */
export function procFile(pid: number, name: 'stat' | 'status'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (['ENOENT', 'ESRCH'].includes(code)) return undefined
    throw ['EPERM', 'EACCES'].includes(code) ? hidden(pid) : error
  }
}

/** Sends a signal, or asks by 0, a process or, by a negative number, a group. Returns false if there is none: kill(2) tells of other users' as well. */
export function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
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
