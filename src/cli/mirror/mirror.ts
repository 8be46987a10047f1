import { type Mirror, mirror } from '../../mirror/mirror.ts'
import { runInPlace } from '../in_place/in_place.ts'
import { Reaper } from '../in_place/reaper.ts'
import { reportOnStdout } from '../service/report.ts'
import { aborted } from '../shared/aborted.ts'
import type { Command } from '../shared/command.ts'
import { tell } from '../shared/output.ts'
import { completed } from './complete.ts'
import { type MirrorArguments, readMirrorArguments } from './mirror_options.ts'
import { reportMirror } from './mirror_report.ts'
import { startMirrorService } from './mirror_service.ts'
import { MirrorStatus } from './mirror_status.ts'

const HELP = `usage: inotify-bridge mirror [OPTIONS] SOURCE... TARGET
       inotify-bridge mirror [OPTIONS] SOURCE --in-place -- COMMAND ARG...

Copies SOURCE, a directory whose mount delivers no events, to TARGET, best on a tmpfs, and keeps it so: every change arrives
there as a rename, so that any program that watches TARGET sees IN_MOVED_TO and never reads half a file. A ConfigMap's
..data is followed in the kubelet's order.

With --in-place the copy lies over SOURCE itself, on a tmpfs that COMMAND alone sees: it runs in a mount namespace of its own, from
the moment when the copy is complete, and its exit code or signal is that of this command. SOURCE is one directory then, whose
entries that cannot be copied are not to be seen; --over-limit is hold, and what is reported goes to stderr. Signals are passed on.

      --interval MS         between two looks at the source; 250
      --quiet MS            for which a file outside ..data must hold still before it is copied; 100
      --max-files N         1024
      --max-bytes N         16777216
      --over-limit MODE     link (TARGET's files become links to the source's) or hold (the last good version stays); by default
                            hold if there is anything in the source that is skipped, else link
      --once                end when a complete version of every SOURCE is in TARGET; 1, and what is missing, if there is none
      --ready-file FILE     is there while TARGET can be relied on: from when a complete version of every SOURCE is in it to the end
                            of the command, but not while the source is lost, is over the limits and held, or TARGET cannot be
                            written
      --listen [HOST:]PORT  HTTP: /healthz (it answers), /readyz (503 and the reason when FILE would not be there), /metrics
                            (Prometheus); port 0 is any that is free
      --in-place            see above
      --json                an object a line
  -h, --help

What was copied stays in TARGET when the command ends: programs may be reading it, and the next run takes it over. A signal that
comes before the first look at every SOURCE is over ends it at once: 0, with --once 1. As process
1 of a container it also waits for the processes that others leave behind.
Exit code: 0 done, 1 failed, 2 wrong usage; with --in-place COMMAND's, 127 if it is not found, 126 if it cannot be executed.
Environment: INOTIFY_BRIDGE_INTERVAL.
`

export const mirrorCommand: Command = {
  help: HELP,
  async run(args, signal) {
    const settings = readMirrorArguments(args)
    using reaper = Reaper.start()
    const { command } = settings
    return command === undefined
      ? await toTarget(settings, signal)
      : await runInPlace(settings, command, reaper)
  },
}

async function toTarget(settings: MirrorArguments, signal: AbortSignal): Promise<number> {
  const { once, json } = settings
  const report = reportOnStdout(json)
  const status = new MirrorStatus()
  await using service = await startMirrorService(settings, status)
  if (service.url !== undefined) report('listening', { url: service.url }, `listening on ${service.url}`)

  const mirrored = await startMirror(settings, signal)
  if (mirrored === undefined) {
    if (once) tell('mirror', 'incomplete: ended by a signal before the first look at every source was over')
    return once ? 1 : 0
  }
  reportMirror(mirrored, report)
  status.follow(mirrored)
  if (once) await completed(mirrored, signal)
  else await aborted(signal)
  const lacking = once ? status.unready : undefined
  // Who reads it learns first that it is ending.
  await service[Symbol.asyncDispose]()
  await mirrored.close({ keep: true })
  if (lacking === undefined) return 0
  tell('mirror', lacking)
  return 1
}

/** undefined if the signal came first. Behind that it is no longer the mirror's: what was copied stays when the command ends. */
async function startMirror(
  { sources, target, options }: MirrorArguments,
  signal: AbortSignal,
): Promise<Mirror | undefined> {
  const starting = new AbortController()
  const end = () => starting.abort()
  signal.addEventListener('abort', end)
  try {
    if (signal.aborted) end()
    return await mirror([...sources], target, { ...options, signal: starting.signal })
  } catch (error) {
    if (error !== starting.signal.reason) throw error
    return undefined
  } finally {
    signal.removeEventListener('abort', end)
  }
}
