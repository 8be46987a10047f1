import { type Mirror, mirror } from '../mirror/mirror.ts'
import type { MirrorOptions } from '../mirror/options.ts'
import { type Command, choiceOf, numberOf, parse, UsageError } from './command.ts'
import { printJson, printLine, tell } from './output.ts'

const HELP = `usage: inotify-bridge mirror [OPTIONS] SOURCE TARGET

Copies SOURCE, a directory whose mount delivers no events, to TARGET, best on a tmpfs, and keeps it so: every change arrives
there as a rename, so that any program that watches TARGET sees IN_MOVED_TO and never reads half a file. A ConfigMap's
..data is followed in the kubelet's order.

      --interval MS         between two looks at the source; 250
      --quiet MS            for which a file outside ..data must hold still before it is copied; 100
      --max-files N         1024
      --max-bytes N         16777216
      --over-limit MODE     link (the default: the target's entries become links to the source) or hold (the last good
                            version stays)
      --once                end after the first pass
      --json                an object a line
  -h, --help

What was copied stays in TARGET when the command ends: programs may be reading it, and the next run takes it over.
Exit code: 0 done, 1 failed, 2 wrong usage. Environment: INOTIFY_BRIDGE_INTERVAL.
`

const OPTIONS = {
  interval: { type: 'string' },
  quiet: { type: 'string' },
  'max-files': { type: 'string' },
  'max-bytes': { type: 'string' },
  'over-limit': { type: 'string' },
  once: { type: 'boolean' },
  json: { type: 'boolean' },
} as const

export const mirrorCommand: Command = {
  summary: 'copy a directory that delivers no events to one that does',
  help: HELP,
  async run(args, signal) {
    const { values, positionals } = parse(args, OPTIONS)
    const target = positionals.pop()
    if (target === undefined || positionals.length === 0) throw new UsageError('name a SOURCE and a TARGET')

    const options: MirrorOptions = {
      limits: {
        files: numberOf('--max-files', values['max-files'], 0) ?? 1024,
        bytes: numberOf('--max-bytes', values['max-bytes'], 0) ?? 16 * 1024 * 1024,
      },
    }
    const interval = numberOf('--interval', values.interval, 1)
    const quiet = numberOf('--quiet', values.quiet, 0)
    const overLimit = choiceOf('--over-limit', values['over-limit'], ['link', 'hold'])
    if (interval !== undefined) options.interval = interval
    if (quiet !== undefined) options.quiet = quiet
    if (overLimit !== undefined) options.overLimit = overLimit

    const mirrored = await mirror(positionals, target, options)
    report(mirrored, values.json === true)
    if (values.once !== true) await aborted(signal)
    await mirrored.close({ keep: true })
    return 0
  },
}

function report(mirrored: Mirror, json: boolean): void {
  const print = (event: string, fields: object, text: string) =>
    json ? printJson({ event, ...fields }) : printLine(text)
  // The first pass is over: what it met is told here, and what comes from now on by events.
  print('state', { state: mirrored.state }, `state ${mirrored.state}`)
  for (const skipped of mirrored.skipped)
    print('skipped', skipped, `skipped ${skipped.path}: ${skipped.reason}`)

  mirrored.on('update', (update) =>
    print('update', update, `update ${update.generation}: ${update.changed.join(' ')}`),
  )
  mirrored.on('skipped', (skipped) => print('skipped', skipped, `skipped ${skipped.path}: ${skipped.reason}`))
  mirrored.on('state', (state, reason) => {
    if (state !== 'closed') print('state', { state, reason }, `state ${state}${reason && `: ${reason}`}`)
  })
  // The last good version stays, and the next pass tries again.
  mirrored.on('error', (error) => tell('mirror', error.message))
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
