import { warnOfAbandonedThread } from '../mounts/syscalls/abandoned_thread.ts'
import { SyscallThread } from '../mounts/syscalls/syscall_thread.ts'
import { provideEngine } from '../watch/engine_part.ts'
import { openEngine } from '../watch/open_engine.ts'
import type { ActionContext } from './actions/action.ts'
import { actionOf } from './actions/action_of.ts'
import { keepRunning } from './actions/kept_program.ts'
import type { Process } from './actions/process_stat.ts'
import { runProgram } from './actions/program.ts'
import { ContentReader } from './content_reader.ts'
import type { ReloadConfig } from './options.ts'

export type Work = ReturnType<typeof workOf>

/**
 * Returns the work of a reloader. Loaded as a whole when a reloader starts: not with the package, and not later, as the package may have been replaced by then.
 *
 * @param meant the process of an action that names a pid
 */
export function workOf({ paths, validate, action }: ReloadConfig, meant: Process | undefined) {
  provideEngine(openEngine)
  const calls = new SyscallThread()
  const kept = 'command' in action && action.restart ? keepRunning(action.command as [string]) : undefined
  return {
    calls,
    reader: new ContentReader(calls, paths),
    validate:
      validate && ((context: ActionContext) => runProgram(validate, { ...context, onOutput: undefined })),
    action: kept?.action ?? actionOf(action, meant, calls),
    /** Ends the thread of the calls, and a program that goes on. A thread without an answer for longer than `patience` is left behind, with a warning. */
    async end(patience: number): Promise<void> {
      const { unanswered } = calls
      calls.end()
      if (unanswered > patience) warnOfAbandonedThread(paths.join(', '), unanswered)
      await kept?.end()
    },
  }
}
