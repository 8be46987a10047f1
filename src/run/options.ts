import type { StdioOptions } from 'node:child_process'
import { isIPv4 } from 'node:net'
import { invalidArgument, refuseUnknown } from '../errors.ts'
import { pollInterval } from '../interval.ts'
import { relayAddress } from '../relay/address.ts'

/** Options of {@link run}. `cwd`, `env` and `stdio` are those of `child_process.spawn()`. */
export interface RunOptions {
  /**
   * ms from the end of a look at what is watched on a silent mount to the next, an integer from 1 to 86400000. INOTIFY_BRIDGE_INTERVAL in the program's environment overrides it.
   * @default 250
   */
  interval?: number
  /**
   * 'auto': looks at what is watched on silent mounts. 'poll': on every mount. 'inotify': at nothing, the kernel tells of all. INOTIFY_BRIDGE_BACKEND in the program's environment overrides it.
   * @default 'auto'
   */
  backend?: 'auto' | 'inotify' | 'poll'
  /**
   * `unix:PATH`, or `tcp:HOST:PORT` with an IPv4 address, of an `inotify-bridge relay` for a directory that has all that is watched on silent mounts, on the host that changes it. Whenever the relay hints at a change, all that is
   * watched there is looked at, and else every 30 s. Without the relay, and while what is watched lies on several file systems, looks are as `interval` says; a process warning (INOTIFY_BRIDGE_RUN) tells that the relay is not there.
   */
  relay?: string
  /** 'continue': the program stays if the supervisor is killed, and hears no more of silent mounts. 'end': it gets SIGTERM then. @default 'end' */
  onFailure?: 'end' | 'continue'
  /** Start the program where it cannot be served, too: a process warning (INOTIFY_BRIDGE_RUN) says why then, in place of 'error'. @default false */
  try?: boolean
  /** Sends SIGTERM when it aborts. */
  signal?: AbortSignal
  /** Directory in which the program starts. */
  cwd?: string | URL
  /** Its environment. @default process.env */
  env?: NodeJS.ProcessEnv
  /** Its descriptors. @default 'pipe' */
  stdio?: StdioOptions
}

const KNOWN = ['interval', 'backend', 'relay', 'onFailure', 'try', 'signal', 'cwd', 'env', 'stdio']
export const DAY = 86_400_000

/** The words for the supervisor, before the program. Throws a TypeError that names what is wrong. */
export function wordsOf(command: string, args: readonly string[], options: RunOptions): string[] {
  refuseUnknown('options', options, KNOWN, { all: "here: backend: 'poll'" })
  if (typeof command !== 'string' || command === '' || command.includes('\0'))
    throw invalidArgument('command', command, 'a string, not empty and without a NUL byte')
  if (!Array.isArray(args)) throw invalidArgument('args', args, 'an array of strings')
  for (const arg of args)
    if (typeof arg !== 'string' || arg.includes('\0'))
      throw invalidArgument('args', arg, 'strings without NUL bytes')
  const { relay, onFailure = 'end', try: attempt = false, signal, env = process.env, stdio } = options
  const interval = pollInterval(options.interval, env)
  if (!Number.isInteger(interval) || interval > DAY) {
    const name = env.INOTIFY_BRIDGE_INTERVAL ? 'INOTIFY_BRIDGE_INTERVAL' : 'options.interval'
    throw invalidArgument(name, interval, `an integer of ms from 1 to ${DAY}`)
  }
  // Empty is as good as unset, as everywhere in the shell.
  const asked = env.INOTIFY_BRIDGE_BACKEND || undefined
  const backend = asked ?? options.backend ?? 'auto'
  if (backend !== 'auto' && backend !== 'inotify' && backend !== 'poll') {
    const name = asked === undefined ? 'options.backend' : 'INOTIFY_BRIDGE_BACKEND'
    throw invalidArgument(name, backend, `'auto', 'inotify' or 'poll'`)
  }
  if (relay !== undefined) {
    const to = relayAddress(relay, 'options.relay')
    if ('host' in to && !isIPv4(to.host ?? ''))
      throw invalidArgument('options.relay', relay, "'tcp:HOST:PORT' with an IPv4 address")
    if (backend === 'inotify')
      throw invalidArgument(
        'options.relay',
        relay,
        "left out with backend: 'inotify', which looks at nothing",
      )
  }
  if (onFailure !== 'end' && onFailure !== 'continue')
    throw invalidArgument('options.onFailure', onFailure, `'end' or 'continue'`)
  if (typeof attempt !== 'boolean') throw invalidArgument('options.try', attempt, 'true or false')
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw invalidArgument('options.signal', signal, 'an AbortSignal')
  if (stdio !== undefined && typeof stdio !== 'string' && !Array.isArray(stdio))
    throw invalidArgument('options.stdio', stdio, `'pipe', 'inherit', 'ignore', 'overlapped' or an array`)
  return [
    ...['--interval', String(interval), '--backend', backend, '--on-failure', onFailure],
    ...(relay === undefined ? [] : ['--relay', relay]),
    ...(attempt ? ['--try'] : []),
    ...['--', command, ...args],
  ]
}
