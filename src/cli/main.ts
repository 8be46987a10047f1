#!/usr/bin/env node
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { refuseOtherPlatforms } from '../compiled.ts'
import { printable } from '../errors.ts'
import { COMMANDS } from './commands.ts'
import type { Command } from './shared/command.ts'
import { CommandError, endLike } from './shared/ending.ts'
import { helpOf } from './shared/help.ts'
import { UsageError } from './shared/option.ts'
import { fieldsOf, setForm, tell } from './shared/output.ts'
import { startReaper } from './shared/reaper.ts'

async function main([name = '', ...args]: string[]): Promise<number> {
  if (name === '--version' || name === '-v') {
    // By the package's own name: a bundle has package.json at another path.
    const { version } = createRequire(import.meta.url)('inotify-bridge/package.json') as { version: string }
    process.stdout.write(`${version}\n`)
    return 0
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    const commands = [...COMMANDS].map(
      async ([each, load]) => `  ${each.padEnd(12)}${(await load()).summary}`,
    )
    process.stdout.write(`usage: inotify-bridge COMMAND [OPTIONS] ...

${(await Promise.all(commands)).join('\n')}

'inotify-bridge COMMAND --help' says more. --version (-v) prints the version.
`)
    return 0
  }
  const load = COMMANDS.get(name)
  if (load === undefined) {
    const complaint = name === '' ? 'name a command' : `there is no command '${printable(name)}'`
    process.stderr.write(`inotify-bridge: ${complaint}: ${[...COMMANDS.keys()].join(', ')} (see --help)\n`)
    return 2
  }
  const options = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  const signal = stopSignal()
  setForm(name, options.includes('--json'))
  try {
    const command = await load()
    if (options.includes('--help') || options.includes('-h')) {
      process.stdout.write(helpOf(name, command))
      return 0
    }
    // These two ask nothing of Linux.
    if (name !== 'exec' && name !== 'completion') refuseOtherPlatforms('addon')
    running = command
    startReaper()
    const ended = await command.run(args, signal)
    return typeof ended === 'number' ? ended : endLike(ended)
  } catch (error) {
    if (signal.aborted && error === signal.reason) return 0
    if (error instanceof UsageError) {
      tell(`${error.message} (see 'inotify-bridge ${name} --help')`, 'error', fieldsOf(error))
      return 2
    }
    tell(error)
    return error instanceof CommandError ? error.exitCode : 1
  }
}

/** The ms behind the first stop signal in which others count as the same one: timeout(1) signals its child, and then the group that the child is in. */
const ONE_STOP = 1000

/**
 * Aborts at the first SIGINT, SIGTERM or SIGHUP, so that the command ends as if it were done. A second one has its usual effect, which
 * for process 1 of a pid namespace the kernel leaves out (pid_namespaces(7)).
 */
function stopSignal(): AbortSignal {
  const controller = new AbortController()
  let began = 0
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (!controller.signal.aborted) {
        began = performance.now()
        controller.abort()
      } else if (performance.now() - began > ONE_STOP) {
        if (process.pid === 1) process.exit(128 + constants.signals[signal])
        process.removeAllListeners(signal)
        process.kill(process.pid, signal)
      }
    })
  }
  return controller.signal
}

let running: Command | undefined

process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
  const isLog = running?.printsLog === true
  // `inotify-bridge watch -m . | head -1`: the reader has what it wanted.
  if (code === 'EPIPE' && !isLog) process.exit(0)
  const text = `stdout cannot be written (${code})${isLog ? ': the work goes on without it' : ''}`
  tell(text, 'error', { code })
  if (!isLog) process.exit(1)
})
// A write that was still queued fails as well, and is ignored.
process.stdout.on('error', () => {})

// Once the log's reader has gone, nobody is left to tell, and the command goes on. This use of stderr comes before any child is started: at its
// first use libuv makes a pipe non-blocking for all who share the pipe, and blocking again for a child.
process.stderr.on('error', () => {})

// Prints one line, instead of Node's three.
process.removeAllListeners('warning')
process.on('warning', (warning) => tell(warning, 'warning'))

process.exitCode = await main(process.argv.slice(2))
