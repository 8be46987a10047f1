import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ReloadFailure } from '../../src/reload/apply_state.ts'
import type { ReloadOptions } from '../../src/reload/options.ts'
import { type Reloader, reload } from '../../src/reload/reloader.ts'
import { scratch } from '../support/scratch.ts'

/** For conditions that are awaited. */
export const PATIENCE = { timeout: 60_000, interval: 5 }

/** The events of a reloader so far. */
export interface Told {
  readonly reloads: Array<{ changed: string[]; digest: string }>
  readonly failures: ReloadFailure[]
  readonly errors: Error[]
  /** Names of events, in order. */
  readonly events: string[]
}

/** Short delays; no look and no retry but those that a test asks for. */
const QUICK = { delay: 50, interval: 60_000, retry: 60_000 }

/** A reloader that is ready, and goes with the test. */
export async function reloading(
  options: Omit<ReloadOptions, 'action'> & { action?: ReloadOptions['action'] },
): Promise<{ reloader: Reloader; told: Told }> {
  const reloader = reload({ action: { command: ['true'] }, ...QUICK, ...options })
  onTestFinished(() => reloader.close())
  const told = listen(reloader)
  await reloader.ready
  return { reloader, told }
}

export function listen(reloader: Reloader): Told {
  const told: Told = { reloads: [], failures: [], errors: [], events: [] }
  reloader.on('reload', (event) => told.reloads.push(event))
  reloader.on('failed', (failure) => told.failures.push(failure))
  reloader.on('error', (error) => told.errors.push(error))
  for (const name of ['reload', 'failed', 'recovered', 'error', 'close'] as const)
    reloader.on(name, () => told.events.push(name))
  return told
}

/** A program that appends a line to a log each time that it is run, and what it is to do besides. */
export function program(script = ''): { argv: string[]; runs: () => string[] } {
  const directory = scratch()
  const [path, log] = [join(directory, 'program'), join(directory, 'log')]
  writeFileSync(path, `#!/bin/sh\necho "$*" >>'${log}'\n${script}\n`)
  chmodSync(path, 0o755)
  const runs = () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1) : [])
  return { argv: [path], runs }
}

/** The processes whose command line has this text, zombies (which have none) left out. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
      } catch {
        return false
      }
    })
    .map(Number)
}

// A process of vitest's runs several files: children that others have left are not this file's.
const leftByOthers = new Set(allZombies())

/** The children of this process that have ended and that nobody has waited for. */
export function zombies(): number[] {
  return allZombies().filter((pid) => !leftByOthers.has(pid))
}

function allZombies(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
        return state === 'Z' && Number(parent) === process.pid
      } catch {
        return false
      }
    })
    .map(Number)
}
