import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

/**
 * Stops all threads of a process, and waits until they stand still: from then on the process does nothing,
 * and does not read its queue.
 */
export async function stop(child: {
  readonly pid?: number | undefined
  kill(signal: NodeJS.Signals): unknown
}): Promise<void> {
  child.kill('SIGSTOP')
  const tasks = `/proc/${child.pid}/task`
  const states = () =>
    readdirSync(tasks).map(
      (task) => /^State:\s+(\S)/m.exec(readFileSync(join(tasks, task, 'status'), 'utf8'))?.[1],
    )
  await expect.poll(() => new Set(states()), { interval: 5 }).toEqual(new Set(['T']))
}
