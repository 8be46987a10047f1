import { aborted } from 'node:util'
import { printable } from '../../errors.ts'
import type { FirstPass } from '../../mirror/options.ts'
import { runInPlace } from '../in_place/in_place.ts'
import { startService } from '../service/service.ts'
import type { Command } from '../shared/command.ts'
import { report, tell } from '../shared/output.ts'
import { reportProgress } from '../shared/progress.ts'
import { MIRROR_OPTIONS, type MirrorArguments, readMirrorArguments } from './mirror_options.ts'
import { overLimitText, reportMirror } from './mirror_report.ts'
import { mirrorStatus } from './mirror_status.ts'
import { completed, startMirror } from './start.ts'

export const mirrorCommand: Command = {
  summary: 'copy a directory that delivers no events to one that does',
  usage: ['[OPTIONS] SOURCE... TARGET', '[OPTIONS] SOURCE --in-place -- COMMAND ARG...'],
  about: `Copies SOURCE, a directory whose mount delivers no events, to TARGET, best on a tmpfs, and keeps it so: every change arrives
there as a rename, so that any program that watches TARGET sees IN_MOVED_TO and never reads half a file. A ConfigMap's
..data is followed in the kubelet's order.

With --in-place the copy lies over SOURCE itself, on a tmpfs that COMMAND alone sees: it runs in a mount namespace of its own, from
the moment when the copy is complete, and its exit code or signal is that of this command. SOURCE is one directory then, whose
entries that cannot be copied are not to be seen; --over-limit is hold, and what is reported goes to stderr. Signals are passed on.`,
  options: MIRROR_OPTIONS,
  notes: `What was copied stays in TARGET when the command ends: programs may be reading it, and the next run takes it over. A signal that
comes before the first look at every SOURCE is over ends it at once: 0, with --once 1. As process
1 of a container it also waits for the processes that others leave behind.

Exit code: 0 done, 1 failed, 2 wrong usage; with --in-place COMMAND's, 127 if it is not found, 126 if it cannot be executed.

Environment: INOTIFY_BRIDGE_INTERVAL.`,
  examples: [
    'inotify-bridge mirror /etc/config /run/config',
    'inotify-bridge mirror --once --max-files 5000 /mnt/share/site /dev/shm/site',
    'inotify-bridge mirror /etc/envoy --in-place -- envoy -c /etc/envoy/envoy.yaml',
  ],
  printsLog: true,
  async run(args, signal) {
    const settings = readMirrorArguments(args)
    const { command } = settings
    return command === undefined ? await toTarget(settings, signal) : await runInPlace(settings, command)
  },
}

async function toTarget(settings: MirrorArguments, signal: AbortSignal): Promise<number> {
  const { sources, target, options, once } = settings
  const status = mirrorStatus(sources, target)
  await using service = await startService('mirror', settings, status, report)
  const ended = aborted(signal, signal)
  let entries = 0
  // The line about a source over the limits.
  let told: string | undefined
  const progress = () =>
    `${told === undefined ? 'mirroring' : 'linking'} ${entries.toLocaleString('en')} entries`
  const endProgress = reportProgress(progress)
  const firstPass: FirstPass = {
    looked(count) {
      entries = count
    },
    over(reason, isHeld) {
      if (told !== undefined) return
      told = printable(overLimitText(reason, isHeld, target))
      tell(told)
    },
  }
  const mirrored = await startMirror(sources, target, options, ended, firstPass).finally(endProgress)
  if (mirrored === undefined) {
    if (once) tell('incomplete: ended by a signal before the first look at every source was over')
    return once ? 1 : 0
  }
  reportMirror(mirrored, report)
  status.follow(mirrored)
  await (once ? completed(mirrored, ended) : ended)
  const { state, reason, isHeld } = mirrored
  // The copy is for its events, which links do not make.
  const over = state === 'over-limit' ? printable(overLimitText(reason, isHeld, target)) : undefined
  const lacking = once ? (over ?? status.unready) : undefined
  // The readers of /readyz learn first that the command is ending.
  await service[Symbol.asyncDispose]()
  await mirrored.close({ keep: true })
  if (lacking === undefined) return 0
  if (lacking !== told) tell(lacking)
  return 1
}
