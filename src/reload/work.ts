import type { SyscallThread } from '../mounts/syscalls/syscall_thread.ts'
import type { Action } from './actions/action.ts'
import { actionOf } from './actions/action_of.ts'
import type { Process } from './actions/process_stat.ts'
import { runProgram } from './actions/program.ts'
import { ContentReader } from './content_reader.ts'
import type { ReloadConfig } from './options.ts'

/** What a reloader does with what it watches. All of it is loaded when a reloader starts, and not with the package, nor when it is due: the package may have been replaced by then. */
export interface Work {
  readonly reader: ContentReader
  readonly validation: Action | undefined
  readonly action: Action
}

/** @param meant the process of an action that names a pid */
export function workOf(
  { paths, validate, action }: ReloadConfig,
  meant: Process | undefined,
  calls: SyscallThread,
): Work {
  return {
    reader: new ContentReader(calls, paths),
    validation: validate && ((context) => runProgram(validate, context)),
    action: actionOf(action, meant, calls),
  }
}
