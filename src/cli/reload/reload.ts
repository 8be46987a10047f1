import { Reloader } from '../../reload/reloader.ts'
import { startService } from '../service/service.ts'
import { aborted } from '../shared/aborted.ts'
import type { Command } from '../shared/command.ts'
import { report, tell } from '../shared/output.ts'
import { ours, startReaper } from '../shared/reaper.ts'
import { RELOAD_OPTIONS, type ReloadArguments, readReloadArguments } from './reload_options.ts'
import { reportReload } from './reload_report.ts'
import { reloadStatus } from './reload_status.ts'

export const reloadCommand: Command = {
  summary: 'signal, call or restart a program when its configuration has changed',
  usage: [
    '[OPTIONS] PATH... --signal SIG (--pid N | --pid-file FILE | --process NAME)',
    '[OPTIONS] PATH... --http URL',
    '[OPTIONS] PATH... --rollout KIND/NAME --namespace NAMESPACE',
    '[OPTIONS] PATH... [--restart] -- COMMAND ARG...',
  ],
  about: `Has a program use its new configuration: when the content of the files and directories has changed, and holds still, it is
validated, and then the signal is sent, the URL is asked for, the pods are replaced or the command is run. What is there at the
start is taken to be in use. What fails is tried again until it has worked, or the content is another.`,
  options: RELOAD_OPTIONS,
  notes: `SIGTERM, SIGINT and SIGHUP end it, and a program that it runs. As process 1 of a container it also waits for the processes that
others leave behind.

Exit code: 0 done, 1 failed, 2 wrong usage.

Environment: INOTIFY_BRIDGE_BACKEND, INOTIFY_BRIDGE_INTERVAL (of polls, where a mount is polled).`,
  examples: [
    'inotify-bridge reload /etc/nginx --validate nginx --validate-arg=-t --signal HUP --process nginx',
    'inotify-bridge reload /etc/prometheus --http http://localhost:9090/-/reload',
    'inotify-bridge reload src --delay 100 --restart -- node server.js',
  ],
  printsLog: true,
  async run(args, signal) {
    const settings = readReloadArguments(args)
    using _ = startReaper()
    return await (settings.once ? once : follow)(settings, signal)
  },
}

async function follow(settings: ReloadArguments, signal: AbortSignal): Promise<number> {
  const { config } = settings
  const status = reloadStatus(config.paths)
  await using service = await startService('reload', settings, status, report)
  await using reloader = started(new Reloader(config))
  status.follow(reloader)
  const ended = aborted(signal)
  if (!(await Promise.race([hasBegun(reloader), ended.then(() => true)]))) return 1
  if (!signal.aborted) report('ready', { paths: config.paths }, `ready: ${config.paths.join(' ')}`)
  await ended
  // The readers of /readyz learn first that the command is ending.
  await service[Symbol.asyncDispose]()
  return 0
}

async function once({ config }: ReloadArguments, signal: AbortSignal): Promise<number> {
  await using reloader = started(new Reloader(config, true))
  let isDone = false
  reloader.on('reload', () => {
    isDone = true
  })
  const inVain = new Promise<void>((resolve) => reloader.once('error', () => resolve()))
  const tried = hasBegun(reloader).then((begun) => (begun ? reloader.trigger() : undefined))
  await Promise.race([tried, inVain, aborted(signal)])
  return isDone ? 0 : 1
}

/** Resolves with true if the reloader can work. It has told the reason why not as an 'error', which is printed. */
function hasBegun({ ready }: Reloader): Promise<boolean> {
  return ready.then(
    () => true,
    () => false,
  )
}

function started(reloader: Reloader): Reloader {
  reportReload(reloader)
  reloader.on('child', (pid, ended) => {
    ours.add(pid)
    void ended.then((how) => {
      ours.delete(pid)
      if (how !== '') tell(how)
    })
  })
  return reloader
}
