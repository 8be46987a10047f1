import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'

/** What a program says, as JSON, that node runs in a mount namespace of its own. */
export async function playedBy<T>(program: string, ...args: readonly string[]): Promise<T> {
  const child = spawn('unshare', ['-rm', process.execPath, program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(code, output).toBe(0)
  return JSON.parse(output)
}
