import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { RunningProgram } from '../../run/running_program.ts'
import { CommandError, type Ending, endOf } from './ending.ts'

/** Runs a program as if this process were the program. Rejects with a {@link CommandError} where it cannot be started. */
export async function runProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ending> {
  try {
    return await standFor(spawn(program, args, { env, stdio: 'inherit' }))
  } catch (error) {
    throw new CommandError(program, -((error as NodeJS.ErrnoException).errno ?? 0))
  }
}

/** Passes the signals on to a child that this process gets. Returns its end. */
export async function standFor(child: ChildProcess | RunningProgram): Promise<Ending> {
  using _ = passSignals(child)
  return await endOf(child)
}

/** The signals that are passed on. Not SIGTSTP, SIGTTIN and SIGTTOU: a stop of this process (a terminal stops both) must stop it. */
const PASSED = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGCONT',
  'SIGWINCH',
  'SIGALRM',
  'SIGIO',
] as const satisfies readonly NodeJS.Signals[]

/** The signals that a terminal, or the shell that controls it, sends to every process of its foreground group. */
const OF_TERMINALS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT', 'SIGWINCH', 'SIGCONT'])

/**
 * Passes the signals that this process gets on to a child, as if it were not there, until disposed of.
 *
 * Ctrl-C goes to the whole foreground group, so the child, which is in ours, has had it; many programs take a second one for 'now, and
 * at any price'. A listener cannot see who sent a signal. So while this group is a terminal's foreground, signals of terminals are not
 * passed on. The price: a `kill -INT` of this process alone does nothing then (`kill -TERM` does).
 */
export function passSignals(
  child: { kill(signal: NodeJS.Signals): unknown },
  isForeground: () => boolean = inForeground,
): Disposable {
  const pass = (signal: NodeJS.Signals) => {
    if (!OF_TERMINALS.has(signal) || !isForeground()) child.kill(signal)
  }
  for (const signal of PASSED) {
    // From here on signals are the child's: other listeners would end this process instead. They are removed last: without any listener for
    // a moment, a signal that came while the child was started would be lost.
    const others = process.listeners(signal)
    process.on(signal, pass)
    for (const other of others) process.off(signal, other)
  }
  return {
    [Symbol.dispose]() {
      for (const signal of PASSED) process.off(signal, pass)
    },
  }
}

/** Returns true if this process's group is in the foreground of its terminal: proc_pid_stat(5). */
function inForeground(): boolean {
  // `exec` runs its command on other systems as well.
  if (process.platform !== 'linux') return process.stdin.isTTY
  return isForegroundStat(readFileSync('/proc/self/stat', 'utf8'))
}

/** @param stat the line of /proc/PID/stat */
export function isForegroundStat(stat: string): boolean {
  // The name, in parentheses, may hold anything.
  const [, , group, , terminal, foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return terminal !== '0' && group === foreground
}
