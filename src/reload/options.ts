import { constants } from 'node:os'
import { invalidArgument, refuseUnknown } from '../errors.ts'
import { LONGEST_TIMER } from '../interval.ts'
import { filePath } from '../watch/options.ts'

/**
 * The action that follows a change of content.
 *
 * - `{ signal, pid }`: a signal to the process that has this pid when reload() is called, and to no other that has it later. Signals need Linux 5.3 (pidfd_open(2)).
 * - `{ signal, pidFile }`: to the process that the file names. A file older than that process is stale. It must be a regular file with one hard link that only its owner may write, and its owner must be
 *   root, this process's user, or allowed to signal the process himself (kill(2)); likewise a symlink to it. The directories on the way are not judged: use one that only these may write.
 * - `{ signal, process }`: to the process with this executable's name, `nginx`; of a server and its workers, to the server. Only processes of this user count, unless it is root; two are an error.
 * - `{ command }`: a program and its arguments, without a shell. Exit code 0 is success.
 * - `{ http }`: a request, POST if no method is named, with a file as its body if one is named. A status of 200 to 299 is success; redirects are not followed. Messages show origin and path of a URL, never its query.
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
      http: {
        url: string
        method?: string
        headers?: Record<string, string>
        /**
         * The file whose bytes are sent, one of the paths or below one. Bytes that have changed since the file was looked at are not sent: the action fails, and they are looked at first. The headers name their
         * type: `{ 'content-type': 'text/caddyfile' }`.
         */
        body?: string
      }
    }
  | { rollout: { kind: 'Deployment' | 'StatefulSet' | 'DaemonSet'; namespace: string; name: string } }

/** The form of an action that has this property. */
export type Form<Name extends string> = Extract<ReloadAction, Record<Name, unknown>>

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

/** A program and its arguments. */
export type Argv = readonly [program: string, ...args: string[]]

/** {@link ReloadOptions}, complete and valid; paths absolute. */
export type ReloadConfig = Readonly<Required<Omit<ReloadOptions, 'validate'>>> & {
  readonly validate: Argv | undefined
}

/** Returns the options with their defaults. Throws a TypeError that names a wrong one. */
export function readOptions(options: ReloadOptions): ReloadConfig {
  const known = ['paths', 'validate', 'action', 'delay', 'interval', 'retry', 'timeout']
  refuseUnknown('options', options, known)
  const { paths, validate, delay = 1000, interval = 60_000, retry = 5000, timeout = 30_000 } = options
  if (!Array.isArray(paths) || paths.length === 0)
    throw invalidArgument('options.paths', paths, 'an array of at least one path')
  const times = { delay, interval, retry, timeout }
  for (const [name, value] of Object.entries(times)) {
    const least = name === 'delay' ? 0 : 1
    if (typeof value !== 'number' || !(value >= least && value <= LONGEST_TIMER))
      throw invalidArgument(`options.${name}`, value, `a number of ms from ${least} to ${LONGEST_TIMER}`)
  }
  const absolute = [...new Set(paths.map((path) => filePath('options.paths', path).toWellFormed()))]
  return {
    paths: absolute,
    validate: validate === undefined ? undefined : readArgv('options.validate', validate),
    action: readAction(options.action, absolute),
    ...times,
  }
}

/** The properties of each form of an action, by the one that tells the form. */
const FORMS = {
  pid: ['signal', 'pid'],
  pidFile: ['signal', 'pidFile'],
  process: ['signal', 'process'],
  command: ['command', 'restart'],
  http: ['http'],
  rollout: ['rollout'],
}

function readAction(action: ReloadAction, paths: readonly string[]): ReloadAction {
  const forms = 'one of { signal, pid | pidFile | process }, { command }, { http } or { rollout }'
  if (typeof action !== 'object' || action === null) throw invalidArgument('options.action', action, forms)
  const [form, another] = (Object.keys(FORMS) as Array<keyof typeof FORMS>).filter((each) => each in action)
  if (form === undefined || another !== undefined)
    throw invalidArgument('options.action', `{ ${Object.keys(action).join(', ')} }`, forms)
  refuseUnknown('options.action', action, FORMS[form])
  if ('pid' in action || 'pidFile' in action || 'process' in action) return readSignal(action)
  if ('http' in action) return readHttp(action, paths)
  if ('rollout' in action) return readRollout(action)
  const command = [...readArgv('options.action.command', action.command)]
  const { restart = false } = action
  if (typeof restart !== 'boolean') throw invalidArgument('options.action.restart', restart, 'a boolean')
  return { command, ...(restart && { restart }) }
}

function readSignal(action: Form<'signal'>): ReloadAction {
  const { signal } = action
  if (typeof signal !== 'string' || !Object.hasOwn(constants.signals, signal))
    throw invalidArgument('options.action.signal', signal, "the name of a signal, as 'SIGHUP'")
  if ('pid' in action) {
    const { pid } = action
    // kill(2) takes 0 and below for groups of processes.
    if (Number.isSafeInteger(pid) && pid > 0 && pid < 2 ** 31) return { signal, pid }
    throw invalidArgument('options.action.pid', pid, 'the pid of one process, above 0')
  }
  if ('pidFile' in action) return { signal, pidFile: filePath('options.action.pidFile', action.pidFile) }
  const { process } = action
  if (typeof process === 'string' && /^[^/\0]+$/.test(process)) return { signal, process }
  throw invalidArgument('options.action.process', process, "an executable's name, without its directory")
}

function readHttp({ http }: Form<'http'>, paths: readonly string[]): ReloadAction {
  refuseUnknown('options.action.http', http, ['url', 'method', 'headers', 'body'])
  const { url, method = 'POST', headers = {} } = http
  const body = http.body === undefined ? undefined : readBody(http.body, paths)
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  const isAsked = parsed !== undefined && /^https?:$/.test(parsed.protocol)
  if (!isAsked || parsed.username + parsed.password !== '') {
    // Repeats no name and no password.
    const shown = parsed === undefined ? url : `${parsed.protocol}//${parsed.host}${parsed.pathname}`
    const expected = 'an URL of http: or https:, without name and password (headers: { authorization })'
    throw invalidArgument('options.action.http.url', shown, expected)
  }
  try {
    new Request(parsed, { method, headers, ...(body !== undefined && { body: '' }) })
  } catch {
    const given = JSON.stringify({ method, headers: Object.keys(headers) })
    const expected = `a method and headers that fetch takes${body === undefined ? '' : ' with a body'}`
    throw invalidArgument('options.action.http', given, expected)
  }
  return { http: { url, method, headers: { ...headers }, ...(body !== undefined && { body }) } }
}

function readBody(file: string, paths: readonly string[]): string {
  const body = filePath('options.action.http.body', file).toWellFormed()
  if (paths.some((path) => body === path || body.startsWith(path === '/' ? path : `${path}/`))) return body
  const expected = 'one of the paths, or a file below one: what is sent is looked at before'
  throw invalidArgument('options.action.http.body', file, expected)
}

/** The name of an object in Kubernetes: RFC 1123, a subdomain. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

function readRollout({ rollout }: Form<'rollout'>): ReloadAction {
  refuseUnknown('options.action.rollout', rollout, ['kind', 'namespace', 'name'])
  const { kind, namespace, name } = rollout
  if (!['Deployment', 'StatefulSet', 'DaemonSet'].includes(kind))
    throw invalidArgument('options.action.rollout.kind', kind, "'Deployment', 'StatefulSet' or 'DaemonSet'")
  for (const [field, value] of Object.entries({ namespace, name })) {
    if (typeof value !== 'string' || !OBJECT_NAME.test(value))
      throw invalidArgument(`options.action.rollout.${field}`, value, 'the name of an object of Kubernetes')
  }
  return { rollout: { kind, namespace, name } }
}

function readArgv(name: string, argv: readonly string[]): Argv {
  const [program, ...args] = Array.isArray(argv) ? argv : ['']
  const isText = (text: unknown) => typeof text === 'string' && !text.includes('\0')
  if (program !== '' && [program, ...args].every(isText)) return [program, ...args]
  throw invalidArgument(name, argv, 'an array of a program and its arguments, strings without a NUL byte')
}
