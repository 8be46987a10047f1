import { readdirSync, readlinkSync } from 'node:fs'
import { constants } from 'node:os'
import { basename } from 'node:path'
import { loadAddon } from '../../addon.ts'
import { describeErrno, InotifyError, printable } from '../../errors.ts'
import { codeOf } from '../../mounts/syscalls/call_error.ts'
import { type Process, processOf, procFile } from './process_stat.ts'

/** The unit of proc_pid_stat(5): USER_HZ, part of the kernel's interface. */
const TICKS_PER_SECOND = 100
/** The bytes of a name in `comm`: TASK_COMM_LEN, less its zero. */
const COMM_BYTES = 15

/** Returns the users who may send a process signals without being privileged, its real and saved one: kill(2). Empty if the process has gone. */
function sendersTo(pid: number): ReadonlySet<number> {
  // Real, effective, saved. The name stands above, but the kernel escapes a line's end in it.
  const users = /^Uid:\t(\d+)\t\d+\t(\d+)/m.exec(procFile(pid, 'status') ?? '')
  return new Set(users?.slice(1).map(Number))
}

/** Returns the start in ms since the epoch. Exact to a tick, but for later steps of the clock. */
export function startedAt({ start }: Process): number {
  return Date.now() - (loadAddon().bootTime() - (1000 * start) / TICKS_PER_SECOND)
}

/** Returns all processes that can be seen from here, without this one and zombies. Throws without /proc. */
export function allProcesses(): Process[] {
  const pids = readdirSync('/proc').map(Number)
  return pids
    .filter((pid) => pid > 0 && pid !== process.pid)
    .flatMap((pid) => {
      try {
        return processOf(pid) ?? []
      } catch (error) {
        // hidepid=1 (proc(5)) lists others' processes, but they can be neither looked at nor signalled.
        if (codeOf(error) === 'EACCES') return []
        throw error
      }
    })
}

/** Returns the basename of its executable; undefined if that may not be seen, '' for a thread of the kernel. */
function executableOf({ pid }: Process): string | undefined {
  try {
    // The kernel marks an executable that was replaced meanwhile: '... (deleted)'.
    return basename(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ''))
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? '' : undefined
  }
}

/** Returns true if a process goes by this name: its executable's, or `comm` (for a script, or if the executable may not be seen). */
export function isCalled(name: string, comm: string, executable: string | undefined): boolean {
  const bytes = Buffer.from(name).toString('latin1')
  // A name that was cut off may be another's, so it counts only where the executable may not be seen.
  const ran = executable === undefined ? bytes.slice(0, COMM_BYTES) : bytes
  return executable !== '' && (executable === name || comm === ran)
}

/**
 * Returns the one process with this name. Anybody can start one of that name, so only this user's count; for root, anybody's.
 *
 * @throws {Error} there is none, or more than one
 */
export function processCalled(name: string, processes: readonly Process[] = allProcesses()): Process {
  const named = processes.filter((each) => isCalled(name, each.comm, executableOf(each)))
  const pids = new Set(named.map(({ pid }) => pid))
  // Keeps the server of a server and its workers.
  const all = named.filter(({ parent }) => !pids.has(parent))
  const user = process.geteuid?.() ?? 0
  const found = all.filter(({ pid }) => user === 0 || sendersTo(pid).has(user))
  const [only, another] = found
  if (only !== undefined && another === undefined) return only
  const called = `is called '${printable(name)}'`
  if (another !== undefined) {
    const which = `pids ${found.map(({ pid }) => pid).join(', ')}`
    throw new Error(`more than one process ${called} (${which}): name one by its pid or its pid file`)
  }
  if (all.length > 0) {
    const hint = 'run as the same user or as root, or name it by its pid or its pid file'
    throw new Error(`no process of this user ${called}, but others' are: ${hint}`)
  }
  const hint = 'is it running, and in this pid namespace (shareProcessNamespace: true in a pod)?'
  // Process 1 is root's in nearly every pid namespace.
  const isHidden = process.pid !== 1 && !processes.some(({ pid }) => pid === 1)
  const others = isHidden ? " /proc shows none of other users' processes here (hidepid)" : ''
  throw new Error(`no process ${called}: ${hint}${others}`)
}

/**
 * Sends a signal to this very process: the start tells if another has its pid by now, and from then on the descriptor stands for no
 * other.
 *
 * @param requireSenders throws if the users who may signal it are not those who should be
 * @throws {InotifyError} ESRCH, EPERM; ENOSYS before Linux 5.3
 */
export function signalProcess(
  { pid, start }: Process,
  signal: NodeJS.Signals,
  requireSenders?: (senders: ReadonlySet<number>) => void,
): void {
  const { pidfdOpen, pidfdSend, pidfdClose } = loadAddon()
  const fd = pidfdOpen(pid)
  if (fd < 0) throw signalError(fd, 'pidfd_open', pid)
  try {
    if (processOf(pid)?.start !== start) throw signalError(-constants.errno.ESRCH, 'pidfd_open', pid)
    // If the process ends now, this may read another's users, but then the signal fails with ESRCH.
    requireSenders?.(sendersTo(pid))
    const error = pidfdSend(fd, constants.signals[signal])
    if (error < 0) throw signalError(error, 'pidfd_send_signal', pid)
  } finally {
    pidfdClose(fd)
  }
}

const HINTS: Readonly<Record<string, string>> = {
  ESRCH: 'has ended: start again with the pid of the new one, or name it by a pid file',
  EPERM:
    "may not be signalled: its user's rights are needed, or CAP_KILL; a seccomp filter may forbid the call as well",
  ENOSYS:
    'was not signalled: Linux 5.3 is needed, so that no other process can be meant; `-- kill -HUP PID` as a command does without',
}

function signalError(error: number, syscall: string, pid: number): InotifyError {
  const [code] = describeErrno(-error)
  const hint = `process ${pid} ${HINTS[code] ?? 'was not signalled'}`
  return new InotifyError({ errno: -error, syscall, hint })
}
