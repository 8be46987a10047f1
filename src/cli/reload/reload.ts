import { Reloader } from '../../reload/reloader.ts'
import { Reaper } from '../in_place/reaper.ts'
import { type Report, reportOnStdout } from '../service/report.ts'
import { Service } from '../service/service.ts'
import { aborted } from '../shared/aborted.ts'
import type { Command } from '../shared/command.ts'
import { type ReloadArguments, readReloadArguments } from './reload_options.ts'
import { reportReload } from './reload_report.ts'
import { ReloadStatus } from './reload_status.ts'

const HELP = `usage: inotify-bridge reload [OPTIONS] PATH... --signal SIG (--pid N | --pid-file FILE | --process NAME)
       inotify-bridge reload [OPTIONS] PATH... --http URL
       inotify-bridge reload [OPTIONS] PATH... --rollout KIND/NAME --namespace NAMESPACE
       inotify-bridge reload [OPTIONS] PATH... -- COMMAND ARG...

Has a program use its new configuration: when the content of the files and directories has changed, and holds still, it is
validated, and then the signal is sent, the URL is asked for, the pods are replaced or the command is run. What is there at the
start is taken to be in use. What fails is tried again until it has worked, or the content is another.

      --delay MS            without a change before it is looked at, so that a burst is one reload; 1000
      --interval MS         between two looks without an event; 60000
      --retry MS            before what has failed is tried again; 5000
      --timeout MS          that the validation, and the action, may take each; 30000
      --validate PROGRAM    exit code 0: the content is good. Run as it is, without a shell
      --validate-arg ARG    for it; once for each (--validate-arg=-t where it begins with a dash)
      --signal SIG          HUP, or any other
      --pid N               of the process that is sent it
      --pid-file FILE       the same; a file that is older than the process it names is stale. It must belong to root, to this user
                            or to that process's, as must a symlink that leads to it, and be writable by its owner alone
      --process NAME        the same, by its executable's name; of a server and its workers, the server. Only this user's
                            processes are meant; root's means anybody's
      --http URL            POST; a status of 200 to 299 is success
      --rollout KIND/NAME   Deployment, StatefulSet or DaemonSet: the digest becomes an annotation of its pods (needs the
                            npm package @kubernetes/client-node, and the rights of the pod's service account)
      --namespace NAMESPACE
      --once                validate and act now, whatever has changed, and end with the result: 0 or 1
      --listen [HOST:]PORT  HTTP: /healthz (it answers), /readyz (503 and the reason while something fails), /metrics
                            (Prometheus); port 0 is any that is free
      --json                an object a line
  -h, --help

SIGTERM, SIGINT and SIGHUP end it, and a program that it runs. As process 1 of a container it also waits for the processes that
others leave behind.
Exit code: 0 done, 1 failed, 2 wrong usage.
Environment: INOTIFY_BRIDGE_BACKEND, INOTIFY_BRIDGE_INTERVAL (of polls, where a mount is polled).
`

export const reloadCommand: Command = {
  help: HELP,
  async run(args, signal) {
    const settings = readReloadArguments(args)
    using reaper = Reaper.start()
    const report = reportOnStdout(settings.json)
    return await (settings.once
      ? once(settings, reaper, report, signal)
      : follow(settings, reaper, report, signal))
  },
}

async function follow(
  { config, listen, json }: ReloadArguments,
  reaper: Reaper,
  report: Report,
  signal: AbortSignal,
): Promise<number> {
  const status = new ReloadStatus()
  const metrics = () => status.metrics(config.paths)
  await using service = await Service.start({ command: 'reload', listen, status, metrics })
  if (service.url !== undefined) report('listening', { url: service.url }, `listening on ${service.url}`)

  await using reloader = started(new Reloader(config), reaper, report, json)
  status.follow(reloader)
  const ended = aborted(signal)
  if (!(await Promise.race([hasBegun(reloader), ended.then(() => true)]))) return 1
  if (!signal.aborted) report('ready', { paths: config.paths }, `ready: ${config.paths.join(' ')}`)
  await ended
  // Who reads it learns first that it is ending.
  await service[Symbol.asyncDispose]()
  return 0
}

async function once(
  { config, json }: ReloadArguments,
  reaper: Reaper,
  report: Report,
  signal: AbortSignal,
): Promise<number> {
  await using reloader = started(new Reloader(config, true), reaper, report, json)
  let isDone = false
  reloader.on('reload', () => {
    isDone = true
  })
  const inVain = new Promise<void>((resolve) => reloader.once('error', () => resolve()))
  const tried = hasBegun(reloader).then((begun) => (begun ? reloader.trigger() : undefined))
  await Promise.race([tried, inVain, aborted(signal)])
  return isDone ? 0 : 1
}

/** Whether it can do anything: why it cannot, it has told as an 'error', which is printed. */
function hasBegun({ ready }: Reloader): Promise<boolean> {
  return ready.then(
    () => true,
    () => false,
  )
}

function started(reloader: Reloader, reaper: Reaper, report: Report, json: boolean): Reloader {
  reportReload(reloader, report, json)
  reloader.on('child', (pid, ended) => {
    reaper.ours.add(pid)
    void ended.then(() => reaper.ours.delete(pid))
  })
  return reloader
}
