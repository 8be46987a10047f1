import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { mayServeFuse } from '../cli/in_place.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { compile } from '../support/compile.ts'
import { obstacle, RUN } from './served.ts'

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
  add(path: Buffer, mask: number): Promise<number> {
    return this.ask(`add ${mask.toString(16)} ${path.toString('hex')}`)
  }

  async ask(line: string): Promise<number> {
    this.#child.stdin.write(`${line}\n`)
    const answer = await this.#await<string>((resolve) => this.#answers.push(resolve))
    const [word, number] = answer.split(' ')
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

/** A directory, bindfs's mount of it in a namespace, and a reader under `run` in there. */
export class Mounted {
  readonly back = mkdtempSync(join(tmpdir(), 'inotify-bridge-'))
  readonly front = mkdtempSync(join(tmpdir(), 'inotify-bridge-'))
  readonly served: RawReader

  constructor(interval: number) {
    const mounted = 'bindfs --no-allow-other "$1" "$2" && shift 2 && exec "$@"'
    const run = [RUN, '--interval', String(interval), '--', compile('run_reader')]
    this.served = new RawReader(['unshare', '-rm', 'sh', '-c', mounted, 'sh', this.back, this.front, ...run])
  }

  /** The mount, as this process sees it. Resolves when it is there. */
  async inside(): Promise<string> {
    // An answer.
    await this.served.add(Buffer.from(this.front), 0)
    return `/proc/${this.served.pid}/root${this.front}`
  }

  /** A reader of the mount without `run`. */
  plain(): RawReader {
    const enter = ['nsenter', '--preserve-credentials', '-U', '-m', '-t', String(this.served.pid)]
    return new RawReader([...enter, compile('run_reader')])
  }

  async end(): Promise<void> {
    await this.served.end()
    for (const path of [this.back, this.front]) rmSync(path, { recursive: true, force: true })
  }
}

const hasBindfs = spawnSync('bindfs', ['--version']).error === undefined
/** False where no {@link Mounted} can be had. */
export const mayMount = obstacle === '' && hasBindfs && mayServeFuse && mayUnshare
