import { printable } from '../../errors.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { ActionError } from '../failure.ts'
import type { Action } from './action.ts'
import { readPidFile } from './pid_file.ts'
import { type Process, processOf } from './process_stat.ts'
import { processCalled, signalProcess } from './processes.ts'

/** Sends a signal to this very process, as long as it is there. */
export function signalKnown(meant: Process, signal: NodeJS.Signals): Action {
  const { pid } = meant
  return async () => {
    const now = processOf(pid)
    if (now === undefined)
      throw new ActionError(
        `process ${pid} has ended: start again with the pid of the new one, or name it by a pid file`,
      )
    if (now.start !== meant.start) {
      throw new ActionError(
        `pid ${pid} is another process now ('${printable(now.comm)}'), the one that was meant has ended: name it by a pid file`,
      )
    }
    signalProcess(meant, signal)
  }
}

/** Sends a signal to the process whose executable has this name. */
export function signalName(name: string, signal: NodeJS.Signals): Action {
  return async () => signalProcess(processCalled(name), signal)
}

/** Sends a signal to the process that a pid file names, and not to another that has its pid by now. */
export function signalPidFile(path: string, signal: NodeJS.Signals, calls: SyscallThread): Action {
  return async () => {
    const { process, requireSenders } = await readPidFile(path, calls)
    signalProcess(process, signal, requireSenders)
  }
}
