import { InotifyError, printable } from '../errors.ts'
import { CallError } from '../mounts/call_error.ts'
import type { Calls } from '../mounts/calls.ts'
import { reach } from '../mounts/reach.ts'
import type { Action } from './action.ts'
import { ActionError } from './failure.ts'
import { type Process, processCalled, processOf, signalProcess, startedAt } from './processes.ts'

/** ms by which a file may seem older than it is: the kernel's ticks, and small steps of the clock. */
const CLOCK_SLACK = 1000
/** A pid and a line's end are shorter. */
const PID_FILE_BYTES = 64

/**
 * Sends a signal to the process that has this pid now.
 *
 * @throws {InotifyError} ESRCH: nobody has it
 */
export function signalPid(pid: number, signal: NodeJS.Signals): Action {
  const meant = processOf(pid)
  if (meant === undefined) {
    const hint = `no process has the pid ${pid}: it must run when reload() is called`
    throw new InotifyError({ errno: 'ESRCH', syscall: 'reload', hint })
  }
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
export function signalPidFile(path: string, signal: NodeJS.Signals, calls: Calls): Action {
  return async () => signalProcess(await processIn(path, calls), signal)
}

/** The process that a pid file names. */
async function processIn(path: string, calls: Calls): Promise<Process> {
  const { text, writtenAt } = await readPidFile(path, calls)
  const shown = `the pid file '${printable(path)}'`
  const pid = /^\s*(\d{1,10})\s*$/.exec(text)?.[1]
  if (pid === undefined || Number(pid) === 0 || Number(pid) >= 2 ** 31) {
    const hint = text.trim() === '' ? 'it is empty: is the process about to write it?' : 'it holds no pid'
    throw new ActionError(`${shown} cannot be used: ${hint}`)
  }
  if (Number(pid) === process.pid) {
    // As process 1 of a container one is what another's pid file says most often.
    const hint = 'was it written in another pid namespace (shareProcessNamespace: true in a pod)?'
    throw new ActionError(`${shown} cannot be used: it names process ${pid}, which is this reloader; ${hint}`)
  }
  const found = processOf(Number(pid))
  if (found === undefined) {
    const hint = 'has it ended, or is it in another pid namespace (shareProcessNamespace: true in a pod)?'
    throw new ActionError(`${shown} is stale: it names process ${pid}, and there is none; ${hint}`)
  }
  const late = startedAt(found) - writtenAt
  if (late > CLOCK_SLACK) {
    throw new ActionError(
      `${shown} is stale: it was written ${Math.round(late / 1000)} s before process ${pid} ('${printable(found.comm)}') was started, which is another that has its pid; remove it, and start what should have written it`,
    )
  }
  return found
}

async function readPidFile(path: string, calls: Calls): Promise<{ text: string; writtenAt: number }> {
  try {
    const { parent, name } = await reach(calls, path)
    await using directory = parent
    await using file = await directory.file(name)
    const text = (await calls.read(file.fd, PID_FILE_BYTES + 1)).toString('latin1')
    return { text, writtenAt: Number(file.opened.mtimeNs / 1_000_000n) }
  } catch (error) {
    if (!(error instanceof CallError) || error.code === 'ECANCELED') throw error
    const hint =
      error.code === 'ENOENT' ? 'is the process running, and does it write one?' : 'it cannot be read'
    throw new InotifyError({ errno: -error.errno, syscall: 'open', path, hint })
  }
}
