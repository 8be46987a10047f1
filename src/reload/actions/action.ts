import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import type { ReloadAction } from '../options.ts'
import { requestUrl } from './http.ts'
import { type ProgramOptions, runProgram } from './program.ts'
import { rollOut } from './rollout.ts'
import { signalName, signalPid, signalPidFile } from './signal.ts'

export interface ActionContext extends ProgramOptions {
  /** Of the content that it is done for. */
  readonly digest: string
}

/** Does what is to be done, once. Throws an Error whose message says why it could not: an ActionError, where something was said. */
export type Action = (context: ActionContext) => Promise<void>

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
