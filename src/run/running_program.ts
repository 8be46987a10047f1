import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { warn } from '../warning.ts'
import type { RunOptions } from './options.ts'

/** A watch that a process under {@link run} has. */
export interface ProgramWatch {
  /** Process that asked for it, as this process numbers it. */
  pid: number
  /** Path as that process gave it: a relative one begins in its working directory. */
  path: string
  /** 'poll': it hears of local changes at once, and of all others by looks. 'inotify': the kernel alone tells it. */
  source: 'poll' | 'inotify'
}

/** The events of a {@link RunningProgram}, with their arguments. */
export interface RunEvents {
  /** A process has made a watch, or changed its mask. `wd` is its descriptor; absent with source 'inotify', where the kernel answers the call itself and no other knows the number. */
  watch: [watch: ProgramWatch & { wd?: number }]
  /** It cannot be served, is not found or cannot be executed: one sentence says why, and 'exit' follows. Or the supervisor itself was not started, as where `cwd` does not exist: no 'exit' follows. */
  error: [error: Error]
  /** It has ended, with an exit code or by a signal; the other is null. All that was told before has been delivered. */
  exit: [code: number | null, signal: NodeJS.Signals | null]
  /** @internal Why it cannot be served, with `try`, or why there is no relay. Without a listener it is a process warning. */
  warning: [why: string]
}

// These alone are not for the supervisor to pass on.
const UNCAUGHT: readonly unknown[] = [
  ...['SIGKILL', 'SIGSTOP'],
  ...[constants.signals.SIGKILL, constants.signals.SIGSTOP],
]

interface Said {
  event: 'start' | 'watch' | 'error' | 'warning' | 'dropped'
  pid: number
  path: string
  source: ProgramWatch['source']
  wd?: number
  message: string
  lines: number
}

/** A program that was started by {@link run}. */
export class RunningProgram extends EventEmitter<RunEvents> implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  readonly #watches = new Map<string, ProgramWatch>()
  // So many, and those of processes that have ended are let go.
  #most = 1024
  #program: number | undefined
  // Signals for the program, until the supervisor has reported its process id; undefined: it has, or will not.
  #early: Array<NodeJS.Signals | number> | undefined = []

  /** @internal Use {@link run}. */
  constructor(
    supervisor: string,
    words: readonly string[],
    { cwd, env, stdio = 'pipe', signal }: RunOptions,
  ) {
    super()
    const descriptors = typeof stdio === 'string' ? [stdio, stdio, stdio] : [...stdio]
    while (descriptors.length < 3) descriptors.push('pipe')
    const number = descriptors.length
    this.#child = spawn(supervisor, ['--report', String(number), ...words], {
      stdio: [...descriptors, 'pipe'],
      ...(cwd !== undefined && { cwd }),
      ...(env !== undefined && { env }),
    })
    const stop = () => void this.kill()
    this.#ended = new Promise((resolve) => {
      // Without a descriptor left there is none (EMFILE), which 'error' says.
      const stdio = this.#child.stdio as ChildProcess['stdio'] | undefined
      const isRead = this.#read(stdio?.[number] as Readable | undefined)
      const end = () => {
        signal?.removeEventListener('abort', stop)
        this.#program = undefined
        resolve()
      }
      this.#child.once('exit', (code, by) => {
        void isRead.then(() => {
          end()
          this.emit('exit', code, by)
        })
      })
      this.#child.on('error', (error) => {
        if (this.#child.pid === undefined) end()
        this.emit('error', error)
      })
    })
    signal?.addEventListener('abort', stop, { once: true })
    if (signal?.aborted) stop()
  }

  /** Process id of the supervisor, which passes signals on and ends as the program does; undefined if it was not started. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Stream to write to the program; null if `stdio` is not 'pipe' there. */
  get stdin(): Writable | null {
    return this.#child.stdin
  }

  /** Stream of what it prints; null likewise. */
  get stdout(): Readable | null {
    return this.#child.stdout
  }

  /** Stream of its stderr; null likewise. The supervisor writes nothing there. */
  get stderr(): Readable | null {
    return this.#child.stderr
  }

  /** Exit code; null while it runs, or if a signal has ended it. */
  get exitCode(): number | null {
    return this.#child.exitCode
  }

  /** Signal that has ended it; null likewise. */
  get signalCode(): NodeJS.Signals | null {
    return this.#child.signalCode
  }

  /** Sends a signal to the program. Returns true if there was somebody to get it. */
  kill(signal: NodeJS.Signals | number = 'SIGTERM'): boolean {
    if (!UNCAUGHT.includes(signal)) return this.#child.kill(signal)
    // The supervisor would end, and the program go on.
    if (this.#early !== undefined && this.pid !== undefined) return this.#early.push(signal) > 0
    if (this.#program === undefined) return this.#child.kill(signal)
    try {
      return process.kill(this.#program, signal)
    } catch {
      return false
    }
  }

  /**
   * Lists the paths that processes of the program watch, by the last 'watch' event of each: those of processes that have ended are left out. A watch that its process has removed since is still
   * among them, since nobody tells of that.
   */
  coverage(): ProgramWatch[] {
    for (const [key, { pid }] of this.#watches) if (!existsSync(`/proc/${pid}`)) this.#watches.delete(key)
    return [...this.#watches.values()].map((watch) => ({ ...watch }))
  }

  /** Sends SIGTERM, and resolves when the program has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.kill()
    await this.#ended
  }

  /** Resolves at its end. */
  async #read(report: Readable | undefined): Promise<void> {
    if (report === undefined) return this.#sendEarly()
    // Not by node:readline, to which U+2028, which a path may have, is the end of a line.
    let rest = ''
    report.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#take(JSON.parse(line) as Said)
    })
    await new Promise((resolve) => report.once('close', resolve))
    this.#sendEarly()
  }

  #sendEarly(): void {
    const early = this.#early ?? []
    this.#early = undefined
    for (const signal of early) this.kill(signal)
  }

  #take({ event, pid, path, source, wd, message, lines }: Said): void {
    if (event === 'start') {
      this.#program = pid
      this.#sendEarly()
    } else if (event === 'error') this.emit('error', new Error(message))
    else if (event === 'watch') {
      this.#watches.set(`${pid} ${path}`, { pid, path, source })
      if (this.#watches.size > this.#most) this.#most = 2 * this.coverage().length + 1024
      this.emit('watch', { pid, path, source, ...(wd !== undefined && { wd }) })
    } else {
      const dropped = `${lines} watches are not told of: this process has not read for too long`
      const why = event === 'warning' ? message : dropped
      this.emit('warning', why) || warn('INOTIFY_BRIDGE_RUN', `run: ${why}`)
    }
  }
}
