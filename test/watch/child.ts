import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { Change, Coverage, WatchOptions } from '../../src/index.ts'
import { stop } from '../support/stopped.ts'

/** child.mjs uses the built library, because not every Node reads TypeScript. */
export const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))

export interface ChildOptions extends WatchOptions {
  /** The user id that the process runs as. */
  uid?: number
  /** Is called with changes as they come. */
  onChanges?: (changes: Change[]) => void
  /** The command that starts node: ['unshare', '-rm']. */
  under?: string[]
  /** Registers the end of the process. By default the process ends with the test. */
  atEnd?: (end: () => Promise<void>) => void
}

/** A watcher in a process of its own: see child.mjs. */
export class WatchingChild {
  readonly changes: Change[] = []
  readonly errors: Array<{ message: string; code?: string; path?: string; hint?: string }> = []
  readonly #process: ChildProcess
  readonly #answers: Array<(answer: unknown) => void> = []
  readonly #ended: Promise<never>

  private constructor(
    path: string | readonly string[],
    { uid, onChanges, under = [], atEnd = onTestFinished, ...options }: ChildOptions,
  ) {
    const program = join(import.meta.dirname, 'child.mjs')
    const args = [path, options, ...(uid === undefined ? [] : [uid])].map((value) => JSON.stringify(value))
    const [command, ...rest] = [...under, process.execPath, program, ...args] as [string, ...string[]]
    this.#process = spawn(command, rest, { stdio: 'pipe' })
    // 'close' comes after all output, unlike 'exit'.
    const exited = once(this.#process, 'close')
    let complaint = ''
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint += text
      process.stderr.write(text)
    })
    this.#ended = exited.then(([code, signal]) =>
      Promise.reject(new Error(`the watching process ended: ${signal ?? `code ${code}`}\n${complaint}`)),
    )
    this.#ended.catch(() => {})
    atEnd(async () => {
      this.#process.kill('SIGKILL')
      await exited
    })
    const lines = createInterface(this.#process.stdout as NodeJS.ReadableStream)
    lines.on('line', (line) => {
      const said = JSON.parse(line)
      if ('changes' in said) {
        this.changes.push(...said.changes)
        onChanges?.(said.changes)
      } else if ('error' in said) this.errors.push(said.error)
      else this.#answers.shift()?.(said.answer)
    })
  }

  static async start(path: string | readonly string[], options: ChildOptions): Promise<WatchingChild> {
    const child = new WatchingChild(path, options)
    await child.#answer()
    return child
  }

  get pid(): number {
    return this.#process.pid as number
  }

  /** Returns the changes since the last call. All that was done before this call is included. */
  async told(): Promise<Change[]> {
    await this.#ask('sync')
    return this.changes.splice(0)
  }

  /** Watches another path as well. */
  async add(path: string): Promise<void> {
    await this.#ask(path)
  }

  /**
   * Watches another path from now on, with a new watcher: starting a process takes longer than most questions
   * to one.
   */
  async turnTo(path: string, options: WatchOptions): Promise<void> {
    await this.#ask(JSON.stringify([path, options]))
    this.changes.length = 0
    this.errors.length = 0
  }

  async coverage(): Promise<Coverage[]> {
    return (await this.#ask('coverage')) as Coverage[]
  }

  async stop(): Promise<void> {
    await stop(this.#process)
  }

  goOn(): void {
    this.#process.kill('SIGCONT')
  }

  #ask(request: string): Promise<unknown> {
    this.#process.stdin?.write(`${request}\n`)
    return this.#answer()
  }

  #answer(): Promise<unknown> {
    return Promise.race([new Promise((resolve) => this.#answers.push(resolve)), this.#ended])
  }
}
