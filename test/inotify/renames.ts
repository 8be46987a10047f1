import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Inotify, nativeQueue } from '../../src/inotify/inotify.ts'
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'

const program = compile('renames')

/** Each step's length when the guard thread is to take what there is: far less than the kernel's queue holds. */
const STEP = 1000

/** Makes a directory in memory, with the file that is renamed. */
export function directoryWithFile(): string {
  const directory = scratch('/dev/shm')
  writeFileSync(join(directory, '0000000'), '')
  return directory
}

/** Gives the file of `directory` new names while this thread, loop and all, is blocked. `steps`: see test/native/renames.c. */
export function renameBlocked(inotify: Inotify, directory: string, steps: string[]): void {
  step(inotify, directory, steps)
}

/**
 * Returns steps for `count` renames, two events each, no faster than the guard thread takes them: the guard's
 * speed is a question for the benchmark.
 */
export function asTaken(count: number): string[] {
  return Array<string>(count / STEP).fill(`${STEP}:0`)
}

/** Blocks until the guard thread has taken all events from the kernel. */
export function blockUntilTaken(inotify: Inotify): void {
  step(inotify, '/', ['0:0'])
}

function step(inotify: Inotify, directory: string, steps: string[]): void {
  const queue = inotify[nativeQueue].fd()
  execFileSync(program, [directory, ...steps], { stdio: ['ignore', 'ignore', 'inherit', queue] })
}
