import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'vitest'

export const hasStressNg = spawnSync('stress-ng', ['--version']).error === undefined

// One stressor of each kind, of a size with which one loop is short.
const STRESSORS = [
  ...['--chmod', '1'],
  ...['--dentry', '1', '--dentries', '500'],
  ...['--dir', '1', '--dir-dirs', '256'],
  ...['--dirdeep', '1', '--dirdeep-dirs', '2', '--dirdeep-files', '1', '--dirdeep-inodes', '3000'],
  ...['--filename', '1'],
  ...['--hdd', '1', '--hdd-bytes', '1M'],
  ...['--link', '1'],
  ...['--mknod', '1'],
  ...['--rename', '1'],
  ...['--symlink', '1'],
  ...['--touch', '1'],
]

/** stress-ng's file stressors at work in a directory, until disposed of. */
export class StressNg implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #ended: Promise<unknown>

  constructor(directory: string) {
    // A session of its own identifies the processes.
    this.#process = spawn('stress-ng', ['--temp-path', directory, '--timeout', '0', ...STRESSORS], {
      cwd: directory,
      detached: true,
      stdio: 'ignore',
    })
    this.#ended = once(this.#process, 'exit')
  }

  /** Resolves when all processes stand still. */
  async stop(): Promise<void> {
    // A process that is not stopped yet may start others.
    const stop = () => {
      const running = this.#running()
      for (const pid of running) signal(pid, 'SIGSTOP')
      return running
    }
    await expect.poll(stop, { interval: 5 }).toEqual([])
  }

  goOn(): void {
    for (const { pid } of this.#processes()) signal(pid, 'SIGCONT')
  }

  /** Returns if stress-ng still runs. */
  get isAlive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // stress-ng removes its files only if it ends in time. The test removes the rest with the tree.
    for (const { pid } of this.#processes()) signal(pid, 'SIGKILL')
    await this.#ended
    await expect.poll(() => this.#running()).toEqual([])
  }

  #running(): number[] {
    return this.#processes()
      .filter(({ state }) => !'TtZX'.includes(state))
      .map(({ pid }) => pid)
  }

  #processes(): Array<{ pid: number; state: string }> {
    return readdirSync('/proc').flatMap((name) => {
      const stat = /^\d+$/.test(name) ? statOf(name) : undefined
      return stat !== undefined && stat.session === this.#process.pid
        ? [{ pid: Number(name), state: stat.state }]
        : []
    })
  }
}

/**
 * Parses /proc/PID/stat: see proc_pid_stat(5). The name of the program, in parentheses, may hold any
 * character.
 */
function statOf(pid: string): { state: string; session: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state = '', , , session] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, session: Number(session) }
  } catch {
    return undefined // it has ended
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has ended.
  }
}
