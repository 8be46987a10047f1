import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import type { ReloadAction } from '../options.ts'
import type { Action } from './action.ts'
import { requestUrl } from './http.ts'
import { runProgram } from './program.ts'
import { rollOut } from './rollout.ts'
import { signalName, signalPid, signalPidFile } from './signal.ts'

/**
 * @param calls for files that may lie on a mount that has stopped answering
 * @throws {InotifyError} ESRCH: a pid that nobody has
 */
export function actionOf(action: ReloadAction, calls: SyscallThread): Action {
  if ('command' in action) return (context) => runProgram(action.command as [string, ...string[]], context)
  if ('http' in action) return requestUrl(action.http)
  if ('rollout' in action) return rollOut(action.rollout)
  if ('pid' in action) return signalPid(action.pid, action.signal)
  if ('pidFile' in action) return signalPidFile(action.pidFile, action.signal, calls)
  return signalName(action.process, action.signal)
}
