import type { Action } from './action.ts'
import { killGroup } from './process_group.ts'
import { shown, start } from './program.ts'

/** A program that goes on until it is ended, or started anew. */
export interface KeptProgram {
  /** Ends the program, if it runs, and starts it. */
  readonly action: Action
  end(): Promise<unknown>
}

/** Keeps a program running, which has this process's stdout and stderr. */
export function keepRunning(argv: readonly [string, ...string[]]): KeptProgram {
  let end = async (): Promise<unknown> => undefined
  const action: Action = async ({ limit: { closing }, onChild }) => {
    await end()
    closing.throwIfAborted()
    const { pid, exited } = await start(argv, 'inherit')
    let ending: Promise<string> | undefined
    end = () => (ending ??= killGroup(pid, exited))
    const ended = exited.then((how) => {
      const text = `${shown(argv[0])} has ended (${how}), and is started again at the next change`
      const isOurs = ending !== undefined
      // With what it leaves behind: the group's number may be another's later.
      void end()
      return isOurs ? '' : text
    })
    onChild?.(pid, ended)
    if (closing.aborted) await end()
  }
  return { action, end: () => end() }
}
