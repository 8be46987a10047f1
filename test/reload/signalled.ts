import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, vi } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { reloading } from './fixture.ts'

/** A program that says 'hup' for each SIGHUP, when it is ready for them. */
export async function listener(
  executable = '/bin/sh',
  script = "trap 'echo hup' HUP; echo ready; while :; do sleep 0.01; done",
  user: { uid?: number } = {},
) {
  const child = spawn(executable, ['-c', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
    ...user,
  })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    process.kill(-(child.pid as number), 'SIGKILL')
    await once(child, 'exit')
  })
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  await vi.waitFor(() => expect(said).toContain('ready'), { timeout: 60_000, interval: 5 })
  return { child, pid: child.pid as number, hups: () => said.split('hup').length - 1 }
}

/** Changes the content, and returns what became of it: 'reload', or why not. */
export async function attempt(
  action: Parameters<typeof reloading>[0]['action'] & object,
  meanwhile = () => {},
): Promise<string> {
  const path = join(scratch(), 'a')
  writeFileSync(path, 'one')
  const { reloader, told } = await reloading({ paths: [path], action })
  meanwhile()
  writeFileSync(path, 'two')
  await reloader.trigger()
  await reloader.close()
  return told.failures[0]?.reason ?? told.events[0] ?? ''
}
