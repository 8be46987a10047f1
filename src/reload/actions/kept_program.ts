import type { Argv } from '../options.ts'
import type { ActionContext } from './action.ts'
import { killGroup } from './process_group.ts'
import { shown, start } from './program.ts'

/** Keeps a program that goes on, and has this process's stdout and stderr. The action ends it, if it runs, and starts it; `end` ends it for good. */
export function keepRunning(argv: Argv) {
  let isOver = false
  let endLast = async (): Promise<unknown> => undefined
  const action = async ({ onChild }: ActionContext) => {
    await endLast()
    if (isOver) return
    const { pid, exited } = await start(argv, 'inherit')
    let ending: Promise<string> | undefined
    const end = () => (ending ??= killGroup(pid, exited))
    endLast = end
    const ended = exited.then((how) => {
      const text = `${shown(argv[0])} has ended (${how}), and is started again at the next change`
      const isOurs = ending !== undefined
      // With what it leaves behind: the group's number may be another's later.
      void end()
      return isOurs ? '' : text
    })
    onChild?.(pid, ended)
    if (isOver) await end()
  }
  const end = () => {
    isOver = true
    return endLast()
  }
  return { action, end }
}
