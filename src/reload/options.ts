import { constants } from 'node:os'
import { resolve } from 'node:path'
import { invalidArgument } from '../errors.ts'
import { LONGEST_TIMER } from '../interval.ts'

/** What is done when the content has changed. A process is sent a signal, a program is run, an URL is asked for, pods are replaced. */
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
    }
  | {
      /** POST if no method is named. A status of 200 to 299 is success. */
      http: { url: string; method?: string; headers?: Record<string, string> }
    }
  | { rollout: { kind: 'Deployment' | 'StatefulSet' | 'DaemonSet'; namespace: string; name: string } }

/** Options of {@link reload}. */
export interface ReloadOptions {
  /** Files and directories, these with all that is in them. Symlinks are followed. */
  paths: string[]
  /** A program and its arguments, no shell: exit code 0 says that the content is good. It runs before each action. */
  validate?: string[]
  action: ReloadAction
  /** ms without a change after which the content is looked at: a burst of changes is one reload. @default 1000 */
  delay?: number
  /** ms. The content is looked at that often even if nothing says that it has changed. @default 60000 */
  interval?: number
  /** ms after which what has failed is tried again. @default 5000 */
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

/** Defaults, and what is wrong with the options: a TypeError that names it. */
export function readOptions(options: ReloadOptions): ReloadConfig {
  if (!isObject(options)) throw invalidArgument('options', options, 'an object')
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
  if ('signal' in action) return readSignal(action)
  if ('command' in action) {
    requireArgv('options.action.command', action.command)
    return { command: [...action.command] }
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
    // 0 and below are groups of processes to kill(2).
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
  if (!isObject(http))
    throw invalidArgument('options.action.http', http, 'an object { url, method?, headers? }')
  const { url, method = 'POST', headers = {} } = http
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (
    parsed === undefined ||
    !/^https?:$/.test(parsed.protocol) ||
    parsed.username + parsed.password !== ''
  ) {
    // What fetch refuses, said now. Of a name and a password in it no more is repeated.
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

/** What Kubernetes takes for the name of an object: RFC 1123, a subdomain. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

function readRollout({ rollout }: Extract<ReloadAction, { rollout: object }>): ReloadAction {
  if (!isObject(rollout))
    throw invalidArgument('options.action.rollout', rollout, 'an object { kind, namespace, name }')
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
  // '' would be the working directory where someone's variable is not set.
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return
  throw invalidArgument(name, path, 'a path, not empty and without a NUL byte')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
