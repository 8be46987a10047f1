import { constants } from 'node:os'
import { resolve } from 'node:path'
import { invalidArgument, refuseUnknown } from '../errors.ts'
import { LONGEST_TIMER } from '../interval.ts'

/**
 * The action that follows a change of content.
 *
 * - `{ signal, pid }`: a signal to the process that has this pid when reload() is called, and to no other that has it later. Signals need Linux 5.3 (pidfd_open(2)).
 * - `{ signal, pidFile }`: to the process that the file names. A file older than that process is stale. It must be a regular file with one hard link that only its owner may write, and its owner must be
 *   root, this process's user, or allowed to signal the process himself (kill(2)); likewise a symlink to it. The directories on the way are not judged: use one that only these may write.
 * - `{ signal, process }`: to the process with this executable's name, `nginx`; of a server and its workers, to the server. Only processes of this user count, unless it is root; two are an error.
 * - `{ command }`: a program and its arguments, without a shell. Exit code 0 is success.
 * - `{ http }`: a request, POST if no method is named. A status of 200 to 299 is success; redirects are not followed. Messages show origin and path of a URL, never its query.
 * - `{ rollout }`: writes the digest as the annotation `inotify-bridge/digest` into the pod template. Needs a pod, and a service account that may `patch` the object.
 */
export type ReloadAction =
  | { signal: NodeJS.Signals; pid: number }
  | { signal: NodeJS.Signals; pidFile: string }
  | {
      signal: NodeJS.Signals
      /** The executable's name: `nginx`. Of several, the one that is the parent of the others. */
      process: string
    }
  | {
      /** The program and its arguments; no shell. Exit code 0 is success. */
      command: string[]
      /** The program goes on, as a server does: started at once, and at each change ended, by SIGTERM and after 2 s by SIGKILL, and started anew. @default false */
      restart?: boolean
    }
  | {
      /** POST if no method is named. A status of 200 to 299 is success. */
      http: { url: string; method?: string; headers?: Record<string, string> }
    }
  | { rollout: { kind: 'Deployment' | 'StatefulSet' | 'DaemonSet'; namespace: string; name: string } }

/** Options of {@link reload}. */
export interface ReloadOptions {
  /** Files and directories, the latter with everything below. Symlinks are followed. A path may not exist yet. */
  paths: string[]
  /** A program and its arguments, without a shell. Exit code 0: the content is good, and the action follows. */
  validate?: string[]
  /** The action that follows. */
  action: ReloadAction
  /** ms without a change after which the content is looked at: a burst of changes is one reload. @default 1000 */
  delay?: number
  /**
   * ms after which the content is looked at even without an event. The environment's INOTIFY_BRIDGE_INTERVAL is another one: how often a silent mount is polled.
   * @default 60000
   */
  interval?: number
  /** ms after which a failure is tried again. @default 5000 */
  retry?: number
  /** ms that the validation, and the action, may take each. @default 30000 */
  timeout?: number
}

/** {@link ReloadOptions}, complete and valid; paths absolute. */
export interface ReloadConfig {
  readonly paths: readonly string[]
  readonly validate: readonly [string, ...string[]] | undefined
  readonly action: ReloadAction
  readonly delay: number
  readonly interval: number
  readonly retry: number
  readonly timeout: number
}

/** Returns the options with their defaults. Throws a TypeError that names a wrong one. */
export function readOptions(options: ReloadOptions): ReloadConfig {
  const known = ['paths', 'validate', 'action', 'delay', 'interval', 'retry', 'timeout']
  refuseUnknown('options', options, known)
  const { paths, validate } = options
  if (!Array.isArray(paths) || paths.length === 0) {
    throw invalidArgument('options.paths', paths, 'an array of at least one path')
  }
  for (const path of paths) requirePath('options.paths', path)
  if (validate !== undefined) requireArgv('options.validate', validate)
  return {
    paths: [...new Set(paths.map((path) => resolve(path).toWellFormed()))],
    validate: validate as [string, ...string[]] | undefined,
    action: readAction(options.action),
    delay: milliseconds('delay', options.delay ?? 1000, 0),
    interval: milliseconds('interval', options.interval ?? 60_000, 1),
    retry: milliseconds('retry', options.retry ?? 5000, 1),
    timeout: milliseconds('timeout', options.timeout ?? 30_000, 1),
  }
}

function milliseconds(name: string, value: unknown, least: number): number {
  if (typeof value === 'number' && value >= least && value <= LONGEST_TIMER) return value
  throw invalidArgument(`options.${name}`, value, `a number of ms from ${least} to ${LONGEST_TIMER}`)
}

function readAction(action: ReloadAction): ReloadAction {
  const forms = '{ signal, pid | pidFile | process }, { command }, { http } or { rollout }'
  if (!isObject(action)) throw invalidArgument('options.action', action, forms)
  const asked = (['signal', 'command', 'http', 'rollout'] as const).filter((name) => name in action)
  if (asked.length !== 1) {
    throw invalidArgument('options.action', `{ ${Object.keys(action).join(', ')} }`, `one of ${forms}`)
  }
  const known = {
    signal: ['signal', 'pid', 'pidFile', 'process'],
    command: ['command', 'restart'],
    http: asked,
    rollout: asked,
  }
  refuseUnknown('options.action', action, known[asked[0] as (typeof asked)[number]])
  if ('signal' in action) return readSignal(action)
  if ('command' in action) {
    requireArgv('options.action.command', action.command)
    const { command, restart = false } = action
    if (typeof restart !== 'boolean') throw invalidArgument('options.action.restart', restart, 'a boolean')
    return { command: [...command], ...(restart && { restart }) }
  }
  return 'http' in action ? readHttp(action) : readRollout(action)
}

type SignalAction = Extract<ReloadAction, { signal: NodeJS.Signals }>

function readSignal(action: SignalAction): ReloadAction {
  const { signal } = action
  if (typeof signal !== 'string' || !Object.hasOwn(constants.signals, signal)) {
    throw invalidArgument('options.action.signal', signal, "the name of a signal, as 'SIGHUP'")
  }
  const named = (['pid', 'pidFile', 'process'] as const).filter((name) => name in action)
  if (named.length !== 1) {
    throw invalidArgument(
      'options.action',
      `{ ${Object.keys(action).join(', ')} }`,
      'a signal and one of pid, pidFile, process',
    )
  }
  if ('pid' in action) {
    const { pid } = action
    // kill(2) takes 0 and below for groups of processes.
    if (Number.isSafeInteger(pid) && pid > 0 && pid < 2 ** 31) return { signal, pid }
    throw invalidArgument('options.action.pid', pid, 'the pid of one process, above 0')
  }
  if ('pidFile' in action) {
    requirePath('options.action.pidFile', action.pidFile)
    return { signal, pidFile: resolve(action.pidFile) }
  }
  const { process } = action
  if (typeof process !== 'string' || process === '' || /[/\0]/.test(process)) {
    throw invalidArgument('options.action.process', process, "an executable's name, without its directory")
  }
  return { signal, process }
}

function readHttp({ http }: Extract<ReloadAction, { http: object }>): ReloadAction {
  refuseUnknown('options.action.http', http, ['url', 'method', 'headers'])
  const { url, method = 'POST', headers = {} } = http
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (
    parsed === undefined ||
    !/^https?:$/.test(parsed.protocol) ||
    parsed.username + parsed.password !== ''
  ) {
    // Refuses now what fetch would refuse later. Repeats no name and no password.
    const shown = parsed === undefined ? url : `${parsed.protocol}//${parsed.host}${parsed.pathname}`
    const expected = 'an URL of http: or https:, without name and password (headers: { authorization })'
    throw invalidArgument('options.action.http.url', shown, expected)
  }
  try {
    new Request(parsed, { method, headers })
  } catch {
    throw invalidArgument(
      'options.action.http',
      JSON.stringify({ method, headers: Object.keys(headers) }),
      'a method and headers that fetch takes',
    )
  }
  return { http: { url, method, headers: { ...headers } } }
}

/** The name of an object in Kubernetes: RFC 1123, a subdomain. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

function readRollout({ rollout }: Extract<ReloadAction, { rollout: object }>): ReloadAction {
  refuseUnknown('options.action.rollout', rollout, ['kind', 'namespace', 'name'])
  const { kind, namespace, name } = rollout
  if (!['Deployment', 'StatefulSet', 'DaemonSet'].includes(kind)) {
    throw invalidArgument('options.action.rollout.kind', kind, "'Deployment', 'StatefulSet' or 'DaemonSet'")
  }
  for (const [field, value] of Object.entries({ namespace, name })) {
    if (typeof value !== 'string' || !OBJECT_NAME.test(value)) {
      throw invalidArgument(`options.action.rollout.${field}`, value, 'the name of an object of Kubernetes')
    }
  }
  return { rollout: { kind, namespace, name } }
}

function requireArgv(name: string, argv: unknown): asserts argv is [string, ...string[]] {
  const isArgv =
    Array.isArray(argv) &&
    argv.length > 0 &&
    argv.every((text) => typeof text === 'string' && !text.includes('\0')) &&
    argv[0] !== ''
  if (!isArgv)
    throw invalidArgument(name, argv, 'an array of a program and its arguments, strings without a NUL byte')
}

function requirePath(name: string, path: unknown): void {
  // '' would be the working directory, if somebody's variable is not set.
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return
  throw invalidArgument(name, path, 'a path, not empty and without a NUL byte')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
