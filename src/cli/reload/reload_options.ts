import { constants } from 'node:os'
import { printable } from '../../errors.ts'
import {
  type ReloadAction,
  type ReloadConfig,
  type ReloadOptions,
  readOptions,
} from '../../reload/options.ts'
import { LISTEN_OPTION, type ListenAddress, listenAddressOf } from '../service/listen.ts'
import { choiceOf, numberOf, parse, UsageError } from '../shared/command.ts'
import { flag, JSON_OPTION, option, repeated } from '../shared/option.ts'

/** The parsed command line of `inotify-bridge reload`. */
export interface ReloadArguments {
  readonly config: ReloadConfig
  readonly once: boolean
  readonly json: boolean
  readonly listen: ListenAddress | undefined
}

export const RELOAD_OPTIONS = {
  delay: option('MS', 'without a change before it is looked at, so that a burst is one reload; 1000'),
  interval: option('MS', 'between two looks without an event; 60000'),
  retry: option('MS', 'before what has failed is tried again; 5000'),
  timeout: option('MS', 'that the validation, and the action, may take each; 30000'),
  validate: option('PROGRAM', 'exit code 0: the content is good. Run as it is, without a shell'),
  'validate-arg': repeated('ARG', 'for it; once for each (--validate-arg=-t where it begins with a dash)'),
  signal: option('SIG', 'HUP, or any other'),
  pid: option('N', 'of the process that is sent it'),
  'pid-file': option(
    'FILE',
    "the same; a file that is older than the process it names is stale. It must belong to root, to this user or to that process's, as must a symlink that leads to it, and be writable by its owner alone",
  ),
  process: option(
    'NAME',
    "the same, by its executable's name; of a server and its workers, the server. Only this user's processes are meant; root's means anybody's",
  ),
  http: option('URL', 'POST; a status of 200 to 299 is success'),
  rollout: option(
    'KIND/NAME',
    "Deployment, StatefulSet or DaemonSet: the digest becomes an annotation of its pods (needs the npm package @kubernetes/client-node, and the rights of the pod's service account)",
  ),
  namespace: option('NAMESPACE', 'of the rollout'),
  restart: flag(
    'COMMAND goes on, as a server does: it is started, and at each change ended (SIGTERM, and SIGKILL after 2 s) and started anew',
  ),
  once: flag('validate and act now, whatever has changed, and end with the result: 0 or 1'),
  listen: LISTEN_OPTION,
  json: JSON_OPTION,
} as const

type Values = ReturnType<typeof parse<typeof RELOAD_OPTIONS>>['values']

/** Parses the arguments of `inotify-bridge reload`; throws a {@link UsageError} that names the wrong one. */
export function readReloadArguments(args: readonly string[]): ReloadArguments {
  // The arguments behind -- are the program's own: its flags must not be read.
  const dashes = args.indexOf('--')
  const head = dashes === -1 ? [...args] : args.slice(0, dashes)
  const command = dashes === -1 ? undefined : args.slice(dashes + 1)
  const { values, positionals: paths } = parse(head, RELOAD_OPTIONS)
  if (paths.length === 0) throw new UsageError('name at least one PATH')

  const validate = validationOf(values)
  const options: ReloadOptions = { paths, action: actionOf(values, command), ...(validate && { validate }) }
  for (const name of ['delay', 'interval', 'retry', 'timeout'] as const) {
    const ms = numberOf(`--${name}`, values[name], name === 'delay' ? 0 : 1)
    if (ms !== undefined) options[name] = ms
  }
  const once = values.once === true
  if (once && values.listen !== undefined) {
    throw new UsageError('--listen does not go with --once, which ends after the action')
  }
  const listen = listenAddressOf(values.listen)
  return { config: configOf(options), once, json: values.json === true, listen }
}

/** Leaves all other checks to reload() itself. */
function configOf(options: ReloadOptions): ReloadConfig {
  try {
    return readOptions(options)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new UsageError(error.message.replace(/^options\.(action\.)?/, ''))
  }
}

function validationOf(values: Values): string[] | undefined {
  const { validate, 'validate-arg': args = [] } = values
  if (validate !== undefined) return [validate, ...args]
  if (args.length > 0) throw new UsageError('--validate-arg needs --validate, the program that it is for')
  return undefined
}

function actionOf(values: Values, command: string[] | undefined): ReloadAction {
  const forms = '--signal, --http, --rollout, or -- COMMAND ARG...'
  const asked = (['signal', 'http', 'rollout'] as const).filter((name) => values[name] !== undefined)
  if (asked.length + Number(command !== undefined) !== 1) {
    throw new UsageError(`name one thing to be done: ${forms}`)
  }
  if (values.restart && (command === undefined || values.once))
    throw new UsageError('--restart needs -- COMMAND, and does not go with --once')
  const targets = (['pid', 'pid-file', 'process'] as const).filter((name) => values[name] !== undefined)
  if (values.signal === undefined && targets[0] !== undefined) {
    throw new UsageError(`--${targets[0]} needs --signal, which it is sent`)
  }
  if (values.rollout === undefined && values.namespace !== undefined) {
    throw new UsageError('--namespace needs --rollout')
  }
  if (command !== undefined) {
    if (command[0] === undefined || command[0] === '') throw new UsageError('there is no COMMAND behind --')
    return { command, restart: values.restart === true }
  }
  if (values.http !== undefined) return { http: { url: values.http } }
  if (values.rollout !== undefined) return rolloutOf(values.rollout, values.namespace)
  return signalOf(values, targets)
}

function signalOf(values: Values, targets: readonly string[]): ReloadAction {
  if (targets.length !== 1) throw new UsageError('--signal needs one of --pid, --pid-file and --process')
  const signal = signalNamed(values.signal ?? '')
  const pid = numberOf('--pid', values.pid, 1)
  if (pid !== undefined) return { signal, pid }
  const { 'pid-file': pidFile, process = '' } = values
  return pidFile === undefined ? { signal, process } : { signal, pidFile }
}

/** Reads `HUP`, as kill(1) has it, or `SIGHUP`. */
function signalNamed(text: string): NodeJS.Signals {
  const name = `SIG${text.toUpperCase().replace(/^SIG/, '')}`
  if (Object.hasOwn(constants.signals, name)) return name as NodeJS.Signals
  throw new UsageError(`--signal takes the name of a signal, as HUP; got '${printable(text)}'`)
}

function rolloutOf(text: string, namespace: string | undefined): ReloadAction {
  const [kind = '', name] = text.split('/')
  if (name === undefined || name === '') {
    throw new UsageError(
      `--rollout takes Deployment/NAME, StatefulSet/NAME or DaemonSet/NAME; got '${printable(text)}'`,
    )
  }
  if (namespace === undefined) throw new UsageError('--rollout needs --namespace')
  const known = choiceOf('--rollout', kind, ['Deployment', 'StatefulSet', 'DaemonSet'])
  return { rollout: { kind: known ?? 'Deployment', namespace, name: text.slice(kind.length + 1) } }
}
