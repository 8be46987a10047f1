import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

export interface RawEvent {
  wd: number
  mask: number
  cookie: number
  name: string
}

/** test/native/run_reader.c, run by a command line. */
export class RawReader {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #ended: Promise<never>
  readonly #answers: Array<(line: string) => void> = []
  readonly #awaited: Array<{ of: (event: RawEvent) => boolean; resolve: (value: undefined) => void }> = []
  #events: RawEvent[] = []

  constructor([file = '', ...args]: readonly string[]) {
    this.#child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line))
    this.#child.stdin.on('error', () => {})
    this.#ended = once(this.#child, 'close').then(([code]) => {
      throw new Error(`the reader has ended: ${code}`)
    })
    this.#ended.catch(() => {})
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  /** Resolves to the watch descriptor, or -errno. */
  async add(path: Buffer, mask: number): Promise<number> {
    this.#child.stdin.write(`add ${mask.toString(16)} ${path.toString('hex')}\n`)
    const line = await this.#await<string>((resolve) => this.#answers.push(resolve))
    const [word, number] = line.split(' ')
    return word === 'added' ? Number(number) : -Number(number)
  }

  /** Takes what was told, to the first of these; waits for that. */
  async until(of: (event: RawEvent) => boolean): Promise<RawEvent[]> {
    if (!this.#events.some(of)) await this.#await<undefined>((resolve) => this.#awaited.push({ of, resolve }))
    return this.#events.splice(0, this.#events.findIndex(of) + 1)
  }

  async end(): Promise<void> {
    this.#child.stdin.end()
    await this.#ended.catch(() => {})
  }

  /** Rejects where the reader ends first. */
  #await<Value>(start: (resolve: (value: Value) => void) => void): Promise<Value> {
    return Promise.race([new Promise<Value>(start), this.#ended])
  }

  #take(line: string): void {
    const [word = '', wd, mask = '', cookie, name = ''] = line.split(' ')
    if (word !== 'event') {
      this.#answers.shift()?.(line)
      return
    }
    const event = {
      wd: Number(wd),
      mask: Number.parseInt(mask, 16),
      cookie: Number(cookie),
      name: Buffer.from(name, 'hex').toString('latin1'),
    }
    this.#events.push(event)
    const at = this.#awaited.findIndex(({ of }) => of(event))
    if (at >= 0) this.#awaited.splice(at, 1)[0]?.resolve(undefined)
  }
}
