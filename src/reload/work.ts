import { warnOfAbandonedThread } from '../mounts/syscalls/abandoned_thread.ts'
import { SyscallThread } from '../mounts/syscalls/syscall_thread.ts'
import { provideEngine } from '../watch/engine_part.ts'
import { openEngine } from '../watch/open_engine.ts'
import type { ActionContext } from './actions/action.ts'
import { requestUrl } from './actions/http.ts'
import { signalPidFile } from './actions/pid_file.ts'
import type { Process } from './actions/process_stat.ts'
import { processCalled, signalProcess } from './actions/processes.ts'
import { keepRunning, runProgram } from './actions/program.ts'
import { rollOut } from './actions/rollout.ts'
import { ContentReader } from './content_reader.ts'
import type { ReloadConfig } from './options.ts'

export type Work = ReturnType<typeof workOf>

/**
 * Returns the work of a reloader. Loaded as a whole when a reloader starts: not with the package, and not later, as the package may have been replaced by then.
 *
 * @param meant the process of an action that names a pid, which may be another's by now
 */
export function workOf({ paths, validate, action: asked }: ReloadConfig, meant: Process | undefined) {
  provideEngine(openEngine)
  // For files that may lie on a mount that has stopped answering.
  const calls = new SyscallThread()
  const kept = 'command' in asked && asked.restart ? keepRunning(asked.command as [string]) : undefined
  const reader = new ContentReader(calls, paths)
  return {
    reader,
    validate:
      validate && ((context: ActionContext) => runProgram(validate, { ...context, onOutput: undefined })),
    async action(context: ActionContext): Promise<void> {
      if (kept !== undefined) return await kept.action(context)
      if ('command' in asked) return await runProgram(asked.command as [string], context)
      if ('http' in asked) {
        const { body } = asked.http
        const bytes = body === undefined ? undefined : await reader.bytes(body, context)
        return await requestUrl(asked.http, context, bytes)
      }
      if ('rollout' in asked) return await rollOut(asked.rollout, context)
      if ('pidFile' in asked) return await signalPidFile(asked.pidFile, asked.signal, calls)
      signalProcess('process' in asked ? processCalled(asked.process) : (meant as Process), asked.signal)
    },
    /** Ends the thread of the calls, and a program that goes on. A thread without an answer for longer than `patience` is left behind, with a warning. */
    async end(patience: number): Promise<void> {
      const { unanswered } = calls
      calls.end()
      if (unanswered > patience) warnOfAbandonedThread(paths.join(', '), unanswered)
      await kept?.end()
    },
  }
}
