import { aborted } from 'node:util'
import { Reloader } from '../../reload/reloader.ts'
import { startService } from '../service/service.ts'
import type { Command } from '../shared/command.ts'
import { attend } from '../shared/ending.ts'
import { report } from '../shared/output.ts'
import { RELOAD_OPTIONS, readReloadArguments } from './reload_options.ts'
import { reportReload } from './reload_report.ts'
import { reloadStatus } from './reload_status.ts'

export const reloadCommand: Command = {
  summary: 'signal, call or restart a program when its configuration has changed',
  usage: [
    '[OPTIONS] PATH... --signal SIG (--pid N | --pid-file FILE | --process NAME)',
    '[OPTIONS] PATH... --http URL [--body FILE]',
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
    const { config, once, listen } = readReloadArguments(args)
    const status = reloadStatus(config.paths)
    await using service = await startService('reload', { listen }, status, report)
    await using reloader = new Reloader(config, once)
    reportReload(reloader)
    reloader.on('child', attend)
    status.follow(reloader)
    const ended = aborted(signal, signal)
    try {
      await Promise.race([reloader.ready, ended])
    } catch {
      // The reason is an 'error' as well, which is printed.
      return 1
    }
    if (once) {
      let code = 1
      reloader.on('reload', () => {
        code = 0
      })
      const inVain = new Promise((resolve) => reloader.once('error', resolve))
      await Promise.race([reloader.trigger(), inVain, ended])
      return code
    }
    if (!signal.aborted) report('ready', { paths: config.paths }, `ready: ${config.paths.join(' ')}`)
    await ended
    // The readers of /readyz learn first that the command is ending.
    await service[Symbol.asyncDispose]()
    return 0
  },
}
