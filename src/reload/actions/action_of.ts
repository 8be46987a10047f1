import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import type { ReloadAction } from '../options.ts'
import type { Action } from './action.ts'
import { requestUrl } from './http.ts'
import { signalPidFile } from './pid_file.ts'
import { type Process, requireProcess } from './process_stat.ts'
import { processCalled, signalProcess } from './processes.ts'
import { runProgram } from './program.ts'
import { rollOut } from './rollout.ts'

/**
 * @param meant the process of an action that names a pid, which may be another's by now
 * @param calls for files that may lie on a mount that has stopped answering
 */
export function actionOf(action: ReloadAction, meant: Process | undefined, calls: SyscallThread): Action {
  if ('command' in action) return (context) => runProgram(action.command as [string], context)
  if ('http' in action) return requestUrl(action.http)
  if ('rollout' in action) return rollOut(action.rollout)
  const { signal } = action
  if ('pidFile' in action) return () => signalPidFile(action.pidFile, signal, calls)
  if ('process' in action) return async () => signalProcess(processCalled(action.process), signal)
  const process = meant ?? requireProcess(action.pid)
  return async () => signalProcess(process, signal)
}
