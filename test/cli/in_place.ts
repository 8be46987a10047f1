import { spawnSync } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { MAIN, Program } from './command.ts'
import { childrenOf } from './pid_namespace.ts'

export const hasInotifywait = spawnSync('inotifywait', ['--help']).error === undefined

/** True if this user may open /dev/fuse, which is enough to mount in a namespace. */
export const mayServeFuse = (() => {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
})()

/** A command that prints 'up', then each signal that it gets, and runs until one ends it, or its stdin does: at the latest with the test. */
export const TELLS_SIGNALS = [
  process.execPath,
  '-e',
  `for (const signal of ['SIGTERM','SIGINT','SIGHUP','SIGQUIT','SIGUSR1','SIGUSR2','SIGCONT','SIGWINCH','SIGALRM'])
     process.on(signal, () => console.log(signal))
   process.stdin.on('end', process.exit).on('error', process.exit).resume()
   console.log('up')`,
]

/** Words in front of the command, by the user that they make. Each user can make a mount in a user and mount namespace of its own. */
export const RIGHTS = {
  /** Has CAP_SYS_ADMIN in its namespace: a mount namespace can be had without a user namespace. */
  administrator: [],
  /** A user without any capability; what is in front of it has mounted what it needs. */
  user: ['unshare', '-U', '--map-user=1000', '--map-group=1000'],
} as const

/** A run of `mirror SOURCE --in-place`. */
export class InPlaceRun extends Program {
  /** Returns the types of the mounts over the source in the mount namespace of a process. */
  static mounts(pid: number, source: string): string[] {
    return readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
      .split('\n')
      .filter((line) => line.split(' ')[4] === source)
      .map((line) => line.split(' - ')[1]?.split(' ')[0] ?? '')
  }

  /** The process that has become the command: inotify-bridge's own child, other than what a silent mount needs. */
  async commandPid(without: number[] = []): Promise<number> {
    const others = () => childrenOf(this.pid).filter((pid) => !without.includes(pid))
    await expect.poll(others, { interval: 5, timeout: 60_000 }).toHaveLength(1)
    return others()[0] as number
  }
}

const FAST = ['--interval', '20', '--quiet', '0']

/** Runs `mirror SOURCE --in-place -- COMMAND` in a user and mount namespace of its own. */
export function runInPlace(
  source: string,
  command: readonly string[],
  { rights = 'administrator', flags = [], ...options }: Options = {},
): InPlaceRun {
  const argv = [process.execPath, MAIN, 'mirror', ...FAST, ...flags, source, '--in-place', '--', ...command]
  return new InPlaceRun('unshare', ['-rm', ...RIGHTS[rights], ...argv], options)
}

interface Options extends NonNullable<ConstructorParameters<typeof Program>[2]> {
  rights?: keyof typeof RIGHTS
  flags?: string[]
}

/** A directory, and a mount of it that delivers nothing of what changes in the directory. Made by the `wrap`ped command line. */
export function silentMount(): {
  back: string
  front: string
  wrap: (argv: readonly string[], how?: Wrap) => string[]
} {
  const [back, base] = [scratch(), scratch()]
  const front = join(base, 'front')
  mkdirSync(front)
  for (const path of [back, base]) chmodSync(path, 0o755)
  // The server goes with whom it serves, who has its shell's pid; or, where that is another user's, with the test.
  const script = `back=$1 front=$2 server=$3 who=$4 pipe=$5 remembered=$6; shift 6
    mkfifo "$pipe"
    setpriv --pdeathsig KILL "${process.execPath}" "$server" "$back" "$front" "$remembered" $who >"$pipe" 2>"$pipe.errors" &
    echo $! >"$pipe.pid"
    read -r ready <"$pipe" && exec "$@"`
  const server = join(import.meta.dirname, '../mirror/fuse_server.mjs')
  const wrap = (
    argv: readonly string[],
    { namespaces = ['-rm'], who = '', remembered = 3600 }: Wrap = {},
  ) => {
    const pipe = join(scratch(), 'pipe')
    onTestFinished(() => endIfStill(Number(readFileSync(`${pipe}.pid`, 'utf8')), 'fuse_server'))
    const words = [back, front, server, who, pipe, String(remembered)]
    return ['unshare', ...namespaces, 'sh', '-c', script, 'sh', ...words, ...argv]
  }
  return { back, front, wrap }
}

/** Kills a process, if it is still that whose command line has `word`: it may be gone, and another have its number. */
export function endIfStill(pid: number, word: string): void {
  if (existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word))
    process.kill(pid, 'SIGKILL')
}

interface Wrap {
  /** Flags of unshare(1). */
  namespaces?: readonly string[]
  /** Further options of the mount. */
  who?: string
  /** For how long the kernel keeps what it has learnt, in seconds. */
  remembered?: number | undefined
}

/** Returns true if any process is in a mount namespace, by /proc/PID/ns/mnt. */
export function isInhabited(namespace: string): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/ns/mnt`) === namespace
    } catch {
      return false // it has gone meanwhile
    }
  })
}
