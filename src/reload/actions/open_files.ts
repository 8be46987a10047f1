import { readdirSync, readFileSync } from 'node:fs'
import { loadAddon } from '../../addon.ts'

/** The usual soft limit of open files: FD_SETSIZE of select(2), and the limit that init systems start programs with. */
const USUAL = 1024
/** The descriptors that a start takes, and other threads meanwhile. */
const SPARE = 128

/**
 * Starts another program with the soft limit of open files that this process was started with. Node has raised its own to the hard limit,
 * which programs that use select(2), or close each descriptor that there may be, do not stand. A program that needs more raises its own.
 */
export function withUsualLimit<T>(start: () => T): T {
  const [own, parent] = [limitsOf('self'), limitsOf(process.ppid)]
  // The parent's, if that has the same hard limit and has not raised its own either.
  const soft = parent.hard === own.hard && parent.soft < parent.hard ? parent.soft : USUAL
  // The limit is left if it is not raised, or if that many files are open already.
  const isRaised = own.soft === own.hard && soft < own.soft
  if (!isRaised || readdirSync('/proc/self/fd').length > soft - SPARE) return start()
  const { limitFiles } = loadAddon()
  limitFiles(soft)
  try {
    return start()
  } finally {
    limitFiles(own.soft)
  }
}

/** Returns the limits of proc_pid_limits(5); NaN for a process that cannot be seen, or without a limit. */
export function limitsOf(pid: number | 'self'): { soft: number; hard: number } {
  let text = ''
  try {
    text = readFileSync(`/proc/${pid}/limits`, 'latin1')
  } catch {}
  const [, soft, hard] = /^Max open files +(\d+) +(\d+)/m.exec(text) ?? []
  return { soft: Number(soft), hard: Number(hard) }
}
