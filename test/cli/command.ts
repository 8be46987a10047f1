import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'

export const MAIN = join(import.meta.dirname, '../../dist/cli.js')

/** The stderr of a mirror without trouble: nothing, or on a busy machine warnings of slow looks. */
export const NOTHING: string = expect.stringMatching(
  /^(inotify-bridge \w+: warning: looking at .* took .* s, longer than the interval\n|\{.*"INOTIFY_BRIDGE_SLOW_POLL".*\}\n)*$/,
)

interface RunOptions {
  environment?: NodeJS.ProcessEnv
  cwd?: string
  /** Input on stdin; null: a stdin that stays open and gives nothing. */
  input?: string | null
}

/** A run of a program, which ends with the test at the latest. */
export class Program {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown[]>
  stdout = ''
  stderr = ''

  constructor(file: string, args: string[], { environment, cwd, input }: RunOptions = {}) {
    this.#child = spawn(file, args, {
      env: { ...process.env, ...environment },
      cwd,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    this.#exited = once(this.#child, 'close')
    if (typeof input === 'string') this.#child.stdin?.end(input)
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    onTestFinished(async () => {
      this.#child.kill('SIGKILL')
      // Not until its output ends: what it has started may have that, too, and go on.
      await this.exited()
    })
  }

  get pid(): number {
    return this.#child.pid as number
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Resolves when all but what a pipe holds has been read. */
  async write(text: string): Promise<void> {
    await new Promise((resolve) => this.#child.stdin?.write(text, resolve))
  }

  /** As `head -1` does when it has its line. */
  closeStdout(): void {
    this.#child.stdout?.destroy()
  }

  /** As a collector of logs does that has ended. */
  closeStderr(): void {
    this.#child.stderr?.destroy()
  }

  /** As `less` does when its screen is full. */
  pauseStdout(): void {
    this.#child.stdout?.pause()
  }

  resumeStdout(): void {
    this.#child.stdout?.resume()
  }

  /** Waits until the output so far matches. */
  async until(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<void> {
    await expect.poll(() => this[stream], { timeout: 60_000, interval: 5 }).toMatch(pattern)
  }

  /** Waits until the process is gone, though its output may not have been read. */
  async exited(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
  }

  /** The exit code, and the signal that ended it if one did. */
  async ended(): Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }> {
    const [code, signal] = (await this.#exited) as [number | null, string | null]
    return { code, signal, stdout: this.stdout, stderr: this.stderr }
  }

  get lines(): string[] {
    return this.stdout.split('\n').filter((line) => line !== '')
  }

  /** Objects of a line each, as --json prints them. */
  get objects(): Array<Record<string, unknown>> {
    return this.lines.map((line) => JSON.parse(line))
  }
}

/** A run of the command. */
export class Run extends Program {
  constructor(args: string[], options: RunOptions = {}) {
    super(process.execPath, [MAIN, ...args], options)
  }

  /** `inotify-bridge watch`, when it has said that it watches. */
  static async watching(args: string[], options: RunOptions = {}): Promise<Run> {
    const run = new Run(['watch', ...args], options)
    await run.until('stderr', /Watches established/)
    return run
  }
}
