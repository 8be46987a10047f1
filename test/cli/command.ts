import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'

const MAIN = join(import.meta.dirname, '../../dist/cli/main.js')

/** A run of the command, which ends with the test at the latest. */
export class Run {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown[]>
  stdout = ''
  stderr = ''

  constructor(args: string[], environment: NodeJS.ProcessEnv = {}) {
    this.#child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#exited = once(this.#child, 'close')
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    onTestFinished(async () => {
      this.#child.kill('SIGKILL')
      await this.#exited
    })
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** As `head -1` does when it has its line. */
  closeStdout(): void {
    this.#child.stdout?.destroy()
  }

  /** Waits until the output so far matches. */
  async until(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<void> {
    await expect.poll(() => this[stream], { timeout: 10_000, interval: 5 }).toMatch(pattern)
  }

  /** The exit code, and the signal that ended it if one did. */
  async ended(): Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }> {
    const [code, signal] = (await this.#exited) as [number | null, string | null]
    return { code, signal, stdout: this.stdout, stderr: this.stderr }
  }

  /** Objects of a line each, as --json prints them. */
  get objects(): Array<Record<string, unknown>> {
    return this.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  }
}
