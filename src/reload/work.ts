import { warnOfAbandonedThread } from '../mounts/syscalls/abandoned_thread.ts'
import { SyscallThread } from '../mounts/syscalls/syscall_thread.ts'
import { provideEngine } from '../watch/engine_part.ts'
import { openEngine } from '../watch/open_engine.ts'
import type { Action } from './actions/action.ts'
import { actionOf } from './actions/action_of.ts'
import { keepRunning } from './actions/kept_program.ts'
import type { Process } from './actions/process_stat.ts'
import { runProgram } from './actions/program.ts'
import { ContentReader } from './content_reader.ts'
import type { ReloadConfig } from './options.ts'

/** The work of a reloader. Loaded as a whole when a reloader starts: not with the package, and not later, as the package may have been replaced by then. */
export interface Work {
  readonly reader: ContentReader
  readonly validation: Action | undefined
  readonly action: Action
  /** The ms for which the oldest system call of a reader has had no answer. */
  readonly unanswered: number
  /** Ends the thread of the calls, and a program that goes on. A thread without an answer for longer than `patience` is left behind, with a warning. */
  end(patience: number): Promise<void>
}

/** @param meant the process of an action that names a pid */
export function workOf({ paths, validate, action }: ReloadConfig, meant: Process | undefined): Work {
  provideEngine(openEngine)
  const calls = new SyscallThread()
  const kept = 'command' in action && action.restart ? keepRunning(action.command as [string]) : undefined
  return {
    reader: new ContentReader(calls, paths),
    validation: validate && ((context) => runProgram(validate, { ...context, onOutput: undefined })),
    action: kept?.action ?? actionOf(action, meant, calls),
    get unanswered() {
      return calls.unanswered
    },
    end: async (patience) => {
      const { unanswered } = calls
      calls.end()
      if (unanswered > patience) warnOfAbandonedThread(paths.join(', '), unanswered)
      await kept?.end()
    },
  }
}
