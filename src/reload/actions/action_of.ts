import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import type { ReloadAction } from '../options.ts'
import type { Action } from './action.ts'
import { requestUrl } from './http.ts'
import { type Process, requireProcess } from './process_stat.ts'
import { runProgram } from './program.ts'
import { rollOut } from './rollout.ts'
import { signalKnown, signalName, signalPidFile } from './signal.ts'

/**
 * @param meant the process of an action that names a pid, which may be another's by now
 * @param calls for files that may lie on a mount that has stopped answering
 */
export function actionOf(action: ReloadAction, meant: Process | undefined, calls: SyscallThread): Action {
  if ('command' in action) return (context) => runProgram(action.command as [string, ...string[]], context)
  if ('http' in action) return requestUrl(action.http)
  if ('rollout' in action) return rollOut(action.rollout)
  if ('pidFile' in action) return signalPidFile(action.pidFile, action.signal, calls)
  if ('process' in action) return signalName(action.process, action.signal)
  return signalKnown(meant ?? requireProcess(action.pid), action.signal)
}
