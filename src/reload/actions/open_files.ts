import { readdirSync, readFileSync } from 'node:fs'
import { loadAddon } from '../../addon.ts'

/** What a program may have open without asking for more: FD_SETSIZE of select(2), and the limit that init systems start programs with. */
const USUAL = 1024
/** Descriptors that a start takes, and other threads meanwhile. */
const SPARE = 128

/**
 * Starts another program with the soft limit of open files that this process was started with. Node has raised its own to the hard limit,
 * which programs that use select(2), or close each descriptor that there may be, do not stand. A program that needs more raises its own.
 */
export function withUsualLimit<T>(start: () => T): T {
  const own = limitsOf('self')
  const soft = own && softBefore(own.hard)
  // Of one that is not raised, or where so many are open already, it is left.
  const isRaised = own !== undefined && soft !== undefined && own.soft === own.hard && soft < own.soft
  if (!isRaised || readdirSync('/proc/self/fd').length > soft - SPARE) return start()
  const { limitFiles } = loadAddon()
  limitFiles(soft)
  try {
    return start()
  } finally {
    limitFiles(own.soft)
  }
}

/** The parent's, where it has the same hard limit and has not raised its own either. */
function softBefore(hard: number): number {
  const parent = limitsOf(process.ppid)
  return parent?.hard === hard && parent.soft < hard ? parent.soft : USUAL
}

/** As proc_pid_limits(5) has them; undefined of no process that could be seen, and where there is no limit. */
function limitsOf(pid: number | 'self'): { soft: number; hard: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/limits`, 'latin1')
    const [, soft, hard] = /^Max open files +(\d+) +(\d+)/m.exec(text) ?? []
    return hard === undefined ? undefined : { soft: Number(soft), hard: Number(hard) }
  } catch {
    return undefined
  }
}
