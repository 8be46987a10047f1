import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * What is passed on. Not SIGTSTP, SIGTTIN and SIGTTOU: whoever stops this process (a terminal stops both) shall find it stopped.
 */
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

/** What a terminal, or the shell that controls it, sends to every process of the group in its foreground. */
const OF_TERMINALS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT', 'SIGWINCH', 'SIGCONT'])

/**
 * Passes the signals that this process gets on to a child, as if it were not there, until disposed of.
 *
 * Ctrl-C goes to the whole foreground group, so the child, which is in ours, has had it; many programs take a second one
 * for 'now, and at any price'. Who sent a signal cannot be seen from here: so while this group is a terminal's foreground what
 * terminals send is left to them. The price: a `kill -INT` of this process alone does nothing then (`kill -TERM` does).
 */
export function passSignals(child: ChildProcess, isForeground: () => boolean = inForeground): Disposable {
  const listeners = PASSED.map((signal) => {
    const listener = () => {
      if (!OF_TERMINALS.has(signal) || !isForeground()) child.kill(signal)
    }
    // From here on they are the child's: others who listen would end this process instead. They go last: without any listener for a moment,
    // a signal that came while the child was started would be lost.
    const others = process.listeners(signal)
    process.on(signal, listener)
    for (const other of others) process.off(signal, other)
    return { signal, listener }
  })
  return {
    [Symbol.dispose]() {
      for (const { signal, listener } of listeners) process.off(signal, listener)
    },
  }
}

/** Whether this process's group is in the foreground of its terminal: proc_pid_stat(5). */
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
