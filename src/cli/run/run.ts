import { findRun } from '../../addon.ts'
import { messageOf } from '../../errors.ts'
import type { Command } from '../shared/command.ts'
import { anyText, flag, option, UsageError } from '../shared/option.ts'
import { runProgram } from '../shared/run_program.ts'

export const runCommand: Command = {
  summary: 'run a program of any language that hears of changes on every mount, by inotify',
  usage: ['[OPTIONS] -- PROGRAM [ARG...]'],
  about: `Runs PROGRAM so that it, and all that it starts, hear by inotify(7) of changes on mounts that deliver no events (virtiofs, NFS, FUSE, 9p,
SMB). PROGRAM may be of any language, and is as it is; no copy is made, and no right is needed. What lies on other mounts is untouched:
there the kernel answers as ever.`,
  options: {
    interval: option('MS', 'between two looks at what is watched on such a mount; 250', anyText),
    backend: option(
      'NAME',
      'auto, the default: what is watched on such a mount is looked at; poll: on every mount; inotify: nothing is, and the kernel tells of all',
      anyText,
    ),
    all: flag('the same as --backend poll'),
    relay: option(
      'ADDRESS',
      "unix:PATH, or tcp:HOST:PORT with an IPv4 address, of an 'inotify-bridge relay' for a directory that has all that PROGRAM watches on such mounts, on the host that changes it: looks are made when it hints at a change, and else every 30 s",
      anyText,
    ),
    try: flag('start PROGRAM in any case, also where it cannot be served'),
    'on-failure': option(
      'MODE',
      'continue: PROGRAM stays if the supervisor is killed; end, the default: it gets SIGTERM',
      anyText,
    ),
    verbose: flag('say on stderr what is watched by whom, and how'),
    json: flag('the same as JSON, an object a line'),
  },
  notes: `What nobody can know by looking is not told: IN_OPEN, IN_ACCESS and IN_CLOSE_NOWRITE of others. Linux 5.14; x64 and arm64.
Exit code: PROGRAM's, 127 if it is not found, 126 if it cannot be executed; 1 if it cannot be served; 2 wrong usage. A signal that ends
PROGRAM ends this, too.

Environment: INOTIFY_BRIDGE_BACKEND, INOTIFY_BRIDGE_INTERVAL, INOTIFY_BRIDGE_RELAY_TOKEN.`,
  examples: [
    'inotify-bridge run -- prometheus --config.file=/etc/prometheus/prometheus.yml',
    'inotify-bridge run --interval 50 --verbose -- inotifywait -m /mnt/shared',
    'inotify-bridge run --try -- nginx -g "daemon off;"',
  ],
  async run(args) {
    if (!['x64', 'arm64'].includes(process.arch))
      throw new UsageError(`run is for x64 and arm64, and this is ${process.arch}: see mirror`)
    // It reads its options itself: in an image without Node it is all that there is.
    return await runProgram(findRun(), ['--as-child', ...args]).catch((cause) => {
      // 126 and 127 are about PROGRAM.
      throw new Error(messageOf(cause), { cause })
    })
  },
}
