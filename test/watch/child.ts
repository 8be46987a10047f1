import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { Change, Coverage, WatchOptions } from '../../src/index.ts'
import { stop } from '../support/stopped.ts'

/** child.mjs takes what was built, as Node does not read TypeScript everywhere. */
export const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))

export interface ChildOptions extends WatchOptions {
  /** Whose rights it has. */
  uid?: number
  /** Told of changes as they come. */
  onChanges?: (changes: Change[]) => void
  /** What node is started by: ['unshare', '-rm']. */
  by?: string[]
  /** When it ends: with the test, unless others go on with it. */
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
    { uid, onChanges, by = [], atEnd = onTestFinished, ...options }: ChildOptions,
  ) {
    const program = join(import.meta.dirname, 'child.mjs')
    const args = [path, options, ...(uid === undefined ? [] : [uid])].map((value) => JSON.stringify(value))
    const [command, ...rest] = [...by, process.execPath, program, ...args] as [string, ...string[]]
    this.#process = spawn(command, rest, { stdio: 'pipe' })
    // 'close', not 'exit': with all that it has said.
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

  /** What was reported since the last call, of all that was done before this one. */
  async told(): Promise<Change[]> {
    await this.#ask('sync')
    return this.changes.splice(0)
  }

  /** Watches this, too. */
  async add(path: string): Promise<void> {
    await this.#ask(path)
  }

  /** Watches something else from now on, by a watcher of its own: to start a process takes longer than most of what one is asked. */
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
