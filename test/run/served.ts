import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { expect, onTestFinished } from 'vitest'
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'

export const RUN = join(import.meta.dirname, '../../build/Release/inotify_bridge_run')

/** '' where `run` is built. */
export const obstacle = existsSync(RUN) ? '' : 'needs npm run build, on x64 or arm64'

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** A program that is run, and the lines that came of it. */
export class Served {
  readonly lines: string[] = []
  said = ''
  readonly child: Child
  readonly ended: Promise<number | NodeJS.Signals | null>

  constructor(argv: readonly string[]) {
    const [file = '', ...rest] = argv
    this.child = spawn(file, rest, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.ended = new Promise((resolve, reject) => {
      this.child.on('error', reject)
      this.child.on('close', (status, signal) => resolve(signal ?? status))
    })
    let rest_ = ''
    this.child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest_ + text).split('\n')
      rest_ = lines.pop() ?? ''
      this.lines.push(...lines)
    })
    this.child.stderr.setEncoding('utf8').on('data', (text) => {
      this.said += text
    })
    this.child.stdin.on('error', () => {})
    onTestFinished(() => void this.child.kill('SIGKILL'))
  }

  get pid(): number {
    return this.child.pid ?? -1
  }

  /** The program, by what the kernel says of this process's children. */
  get program(): number {
    return Number(readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'utf8').split(' ')[0])
  }

  async line(wanted: string): Promise<void> {
    await expect.poll(() => [...this.lines, this.said], { timeout: 60_000 }).toContain(wanted)
  }

  descriptors(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length
  }

  async end(): Promise<number | NodeJS.Signals | null> {
    this.child.stdin.end()
    return this.ended
  }
}

/** A program under `run`, by the options. */
export const served = (options: readonly string[], ...program: string[]) =>
  new Served([RUN, ...options, '--', ...program])

/** test/native/run_load.c under `run`, which looks at every mount. */
export const load = (...words: Array<string | number>) =>
  served(['--all', '--interval', '20'], compile('run_load'), ...words.map(String))

/** The directories in which shadows of a process lie. */
export const grounds = (pid: number) =>
  readdirSync('/dev/shm').filter((name) => name.startsWith(`.inotify-bridge-run-${pid}-`))

/** '' of a process that is not there, or has ended. */
export function stateOf(pid: number): string {
  try {
    const [, state = ''] = /^State:\t(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return state === 'Z' ? '' : state
  } catch {
    return ''
  }
}

export const isRoot = process.getuid?.() === 0
export const needed = isRoot ? '' : ' (needs root)'

/** A directory where any user may execute `run` and test/native/run_load.c. */
export function forAll(): { place: string; run: string; load: string } {
  const place = scratch()
  chmodSync(place, 0o755)
  const [run, load] = [join(place, 'run'), join(place, 'load')]
  copyFileSync(RUN, run)
  copyFileSync(compile('run_load'), load)
  return { place, run, load }
}

/** Put before a command that another user is to run. */
export const as = (user: number) => [
  'setpriv',
  '--clear-groups',
  ...['--regid', String(user)],
  ...['--reuid', String(user)],
]
