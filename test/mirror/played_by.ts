import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'

/** Runs a program of node in a user and mount namespace of its own. Returns what the program prints, as JSON. */
export function playedBy<T>(program: string, ...args: readonly string[]): Promise<T> {
  return played('-rm', program, args)
}

/** The same as this machine's root, who alone may mount a disk. */
export function playedByRoot<T>(program: string, ...args: readonly string[]): Promise<T> {
  return played('-m', program, args)
}

async function played<T>(namespaces: string, program: string, args: readonly string[]): Promise<T> {
  const child = spawn('unshare', [namespaces, process.execPath, program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(code, output).toBe(0)
  return JSON.parse(output)
}
