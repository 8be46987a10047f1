#!/usr/bin/env node
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { AddonLoadError, escapeInvisible, printable } from '../errors.ts'
import { type Command, UsageError } from './shared/command.ts'
import { tell } from './shared/output.ts'
import { eraseProgress } from './shared/progress.ts'

/** Loaded when it is asked for: to load all of them takes longer than what most of them do. */
const COMMANDS: ReadonlyMap<string, { readonly summary: string; load(): Promise<Command> }> = new Map([
  [
    'watch',
    {
      summary: 'print the changes in directories, by inotify or by polling, as their mount needs',
      load: async () => (await import('./watch/watch.ts')).watchCommand,
    },
  ],
  [
    'mirror',
    {
      summary: 'copy a directory that delivers no events to one that does',
      load: async () => (await import('./mirror/mirror.ts')).mirrorCommand,
    },
  ],
  [
    'publish',
    {
      summary: 'put files in place so that watchers see IN_MOVED_TO, and readers never half a file',
      load: async () => (await import('./publish/publish.ts')).publishCommand,
    },
  ],
  [
    'reload',
    {
      summary: 'signal, call or restart a program when its configuration has changed',
      load: async () => (await import('./reload/reload.ts')).reloadCommand,
    },
  ],
  [
    'diagnose',
    {
      summary: 'say what a path can and cannot deliver, and why',
      load: async () => (await import('./diagnose/diagnose.ts')).diagnoseCommand,
    },
  ],
  [
    'build',
    {
      summary: 'compile the addon where this is installed, for an architecture that none is packed for',
      load: async () => (await import('./build/build.ts')).buildCommand,
    },
  ],
])

const HELP = `usage: inotify-bridge COMMAND [OPTIONS] ...

${[...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`).join('\n')}

'inotify-bridge COMMAND --help' says more. --version prints the version.
`

async function main([name, ...args]: string[]): Promise<number> {
  if (name === '--version') {
    // By the package's own name: where it lies is another where it is bundled.
    const { version } = createRequire(import.meta.url)('inotify-bridge/package.json') as { version: string }
    process.stdout.write(`${version}\n`)
    return 0
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(HELP)
    return 0
  }
  const asked = name === undefined ? undefined : COMMANDS.get(name)
  if (name === undefined || asked === undefined) {
    const complaint = name === undefined ? 'name a command' : `there is no command '${printable(name)}'`
    process.stderr.write(`inotify-bridge: ${complaint}: ${[...COMMANDS.keys()].join(', ')} (see --help)\n`)
    return 2
  }
  const options = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  const signal = stopSignal()
  try {
    const command = await asked.load()
    if (options.includes('--help') || options.includes('-h')) {
      process.stdout.write(command.help)
      return 0
    }
    return await command.run(args, signal)
  } catch (error) {
    if (signal.aborted && error === signal.reason) return 0
    if (error instanceof UsageError) {
      tell(name, `${error.message} (see 'inotify-bridge ${name} --help')`)
      return 2
    }
    const message = error instanceof Error ? error.message : String(error)
    // What it tells of has lines of its own: the places that were tried.
    const [first = '', ...below] = error instanceof AddonLoadError ? message.split('\n') : [message]
    tell(name, first, ...below)
    return 1
  }
}

/**
 * Aborts at the first SIGINT, SIGTERM or SIGHUP, so that the command ends as if it were done. The second has its usual effect, which
 * for process 1 of a pid namespace the kernel leaves out (pid_namespaces(7)).
 */
function stopSignal(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      controller.abort()
      if (process.pid === 1) process.once(signal, () => process.exit(128 + constants.signals[signal]))
    })
  }
  return controller.signal
}

// `inotify-bridge watch -m . | head -1`: the reader has what it wanted.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

// Where the log's reader has gone, there is nobody left to tell, and what is to be done goes on.
process.stderr.on('error', () => {})

// One line, where Node would print three.
process.removeAllListeners('warning')
process.on('warning', (warning) => {
  eraseProgress()
  process.stderr.write(`inotify-bridge: warning: ${escapeInvisible(warning.message)}\n`)
})

process.exitCode = await main(process.argv.slice(2))
