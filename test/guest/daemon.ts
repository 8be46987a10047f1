import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { PROGRAMS } from './requirements.ts'
import type { Launcher } from './rust_virtiofsd.ts'

/** Only the Rust daemon has `never` and `metadata`, and only the C one has `none`. */
export type CacheMode = 'none' | 'auto' | 'always' | 'never' | 'metadata'

export interface DaemonOptions {
  source: string
  cache: CacheMode
  socket: string
  log: string
  /** Starts the Rust daemon. The default is the C one. */
  rust?: Launcher | undefined
  /** Writes a line for each request to `log`, which slows the daemon down. */
  verbose?: boolean
}

/** Starts a program that ends with this process, even if this process is killed. */
export function spawnBound(argv: readonly string[], log: string): ChildProcess {
  const output = openSync(log, 'a')
  try {
    return spawn(PROGRAMS.setpriv.path, ['--pdeathsig', 'KILL', ...argv], {
      stdio: ['ignore', output, output],
    })
  } finally {
    closeSync(output)
  }
}

/** Kills a process, stopped or not, and resolves when the process has ended. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

function commandLine({ source, cache, socket, rust, verbose }: DaemonOptions): string[] {
  if (rust !== undefined) {
    // seccomp: another C library than the system's makes system calls that the filter refuses.
    const options = ['--socket-path', socket, '--shared-dir', source, '--cache', cache, '--seccomp', 'none']
    return [...rust, ...options, '--sandbox', 'chroot']
  }
  const options = [`source=${source}`, `cache=${cache}`, 'sandbox=chroot'].flatMap((option) => ['-o', option])
  return [PROGRAMS.virtiofsd.path, `--socket-path=${socket}`, ...(verbose ? ['-d'] : []), ...options]
}

/** A virtiofsd, which serves one directory to one guest. */
export class Daemon {
  readonly #child: ChildProcess
  readonly #options: DaemonOptions

  private constructor(child: ChildProcess, options: DaemonOptions) {
    this.#child = child
    this.#options = options
  }

  /** Resolves when QEMU can connect to the daemon. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const { socket, log } = options
    const child = spawnBound(commandLine(options), log)
    const daemon = new Daemon(child, options)
    while (!existsSync(socket)) {
      if (child.exitCode !== null) throw new Error(`virtiofsd: ${await readFile(log, 'utf8')}`)
      await sleep(5)
    }
    return daemon
  }

  /** Stops the daemon: processes that ask it wait in the kernel, where no signal reaches them. */
  stop(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** Returns the daemon's output so far. */
  log(): Promise<string> {
    return readFile(this.#options.log, 'utf8')
  }

  close(): Promise<void> {
    return end(this.#child)
  }
}
