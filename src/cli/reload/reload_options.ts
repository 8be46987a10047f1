import { constants } from 'node:os'
import { type ReloadAction, type ReloadOptions, readOptions } from '../../reload/options.ts'
import { LISTEN_OPTION } from '../service/listen.ts'
import { parse, pick, requirePaths } from '../shared/command.ts'
import {
  anyText,
  flag,
  JSON_OPTION,
  oneOf,
  option,
  path,
  repeated,
  UsageError,
  type Values,
  whole,
  wrongValue,
} from '../shared/option.ts'

const WITH_SIGNAL = { needs: 'signal' }
const WITH_HTTP = { needs: 'http' }

export const RELOAD_OPTIONS = {
  delay: option(
    'MS',
    'without a change before it is looked at, so that a burst is one reload; 1000',
    whole(0),
  ),
  interval: option('MS', 'between two looks without an event; 60000', whole(1)),
  retry: option('MS', 'before what has failed is tried again; 5000', whole(1)),
  timeout: option('MS', 'that the validation, and the action, may take each; 30000', whole(1)),
  validate: option('PROGRAM', 'exit code 0: the content is good. Run as it is, without a shell', anyText),
  'validate-arg': repeated(
    'ARG',
    'for it; once for each (--validate-arg=-t where it begins with a dash)',
    anyText,
    { needs: 'validate' },
  ),
  signal: option('SIG', 'HUP, or any other', signalName),
  pid: option('N', 'of the process to be signalled', whole(1), WITH_SIGNAL),
  'pid-file': option(
    'FILE',
    "the same; a file that is older than the process it names is stale. It must belong to root, to this user or to that process's, as must a symlink that leads to it, and be writable by its owner alone",
    path,
    WITH_SIGNAL,
  ),
  process: option(
    'NAME',
    "the same, by its executable's name; of a server and its workers, the server. Only this user's processes are meant; root's means anybody's",
    anyText,
    WITH_SIGNAL,
  ),
  http: option('URL', 'POST; a status of 200 to 299 is success', anyText),
  body: option('FILE', 'whose bytes are sent, as they were looked at; a PATH, or below one', path, WITH_HTTP),
  header: repeated(
    'HEADER',
    "'NAME: VALUE', as 'Content-Type: text/caddyfile'; once for each",
    header,
    WITH_HTTP,
  ),
  rollout: option(
    'KIND/NAME',
    "Deployment, StatefulSet or DaemonSet: the digest becomes an annotation of its pods (needs the rights of the pod's service account)",
    kindAndName,
    { needs: 'namespace' },
  ),
  namespace: option('NAMESPACE', 'of the rollout', anyText, { needs: 'rollout' }),
  restart: flag(
    'COMMAND goes on, as a server does: it is started, and at each change ended (SIGTERM, and SIGKILL after 2 s) and started anew',
    { without: { once: 'which ends with the result of its command' } },
  ),
  once: flag('validate and act now, whatever has changed, and end with the result: 0 or 1'),
  listen: LISTEN_OPTION,
  json: JSON_OPTION,
} as const

/** Parses the arguments of `inotify-bridge reload`; throws a {@link UsageError} that names the wrong one. */
export function readReloadArguments(args: readonly string[]) {
  const { values, before: paths, behind } = parse(args, RELOAD_OPTIONS)
  requirePaths(paths)
  const { validate, 'validate-arg': more = [], once = false, listen } = values
  const options: ReloadOptions = {
    paths,
    action: actionOf(values, behind),
    ...(validate !== undefined && { validate: [validate, ...more] }),
    ...pick(values, 'delay', 'interval', 'retry', 'timeout'),
  }
  try {
    // Leaves all other checks to reload() itself.
    return { config: readOptions(options), once, listen }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new UsageError(error.message.replace(/^options\.(action\.)?/, ''))
  }
}

function actionOf(values: Values<typeof RELOAD_OPTIONS>, command: string[] | undefined): ReloadAction {
  const { signal, http: url, header = [], rollout, namespace = '', restart = false } = values
  const { pid, 'pid-file': pidFile, process = '' } = values
  const actions: ReloadAction[] = []
  if (signal !== undefined) {
    if (Object.keys(pick(values, 'pid', 'pid-file', 'process')).length !== 1)
      throw new UsageError('--signal needs one of --pid, --pid-file and --process')
    const by = pidFile === undefined ? { process } : { pidFile }
    actions.push({ signal, ...(pid === undefined ? by : { pid }) })
  }
  if (url !== undefined)
    actions.push({ http: { url, headers: Object.fromEntries(header), ...pick(values, 'body') } })
  if (rollout !== undefined) actions.push({ rollout: { ...rollout, namespace } })
  if (command !== undefined) actions.push({ command, restart })
  const [action, another] = actions
  if (action === undefined || another !== undefined)
    throw new UsageError('name one thing to be done: --signal, --http, --rollout, or -- COMMAND ARG...')
  if (restart && command === undefined) throw new UsageError('--restart needs -- COMMAND')
  if (command !== undefined && (command[0] ?? '') === '')
    throw new UsageError('there is no COMMAND behind --')
  return action
}

/** Reads `HUP`, as kill(1) has it, or `SIGHUP`. */
function signalName(text: string, option: string): NodeJS.Signals {
  const name = `SIG${text.toUpperCase().replace(/^SIG/, '')}`
  if (Object.hasOwn(constants.signals, name)) return name as NodeJS.Signals
  throw wrongValue(option, 'the name of a signal, as HUP', text)
}

function header(text: string, option: string): [name: string, value: string] {
  const [, name, value] = /^([^:]+):\s*(.*)$/s.exec(text) ?? []
  // Repeats no value: it may be secret.
  if (name === undefined || value === undefined) throw new UsageError(`${option} takes 'NAME: VALUE'`)
  return [name, value]
}

function kindAndName(text: string, option: string) {
  const [, kind = '', name = ''] = /^([^/]*)\/(.+)$/s.exec(text) ?? []
  if (name === '') throw wrongValue(option, 'Deployment/NAME, StatefulSet/NAME or DaemonSet/NAME', text)
  return { kind: oneOf('Deployment', 'StatefulSet', 'DaemonSet')(kind, option), name }
}
