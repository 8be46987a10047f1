import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { aborted } from 'node:util'
import { printable } from '../../errors.ts'
import { devNullMissing } from '../../mounts/dev_null.ts'
import { codeOf } from '../../mounts/syscalls/call_error.ts'
import type { Contents } from '../contents.ts'
import type { Argv } from '../options.ts'
import { type ActionContext, failureWith, OUTPUT_BYTES } from './action.ts'
import { withUsualLimit } from './open_files.ts'
import { kill } from './process_stat.ts'
import { allProcesses } from './processes.ts'

/** ms for which the output of one that has ended is read on, where something that it has left behind holds it open. */
const LAST_WORDS = 200
/** ms from SIGTERM to SIGKILL, and from there until a process group is given up. */
const GRACE = 2000

/**
 * Runs a program as it is, no shell, in a process group of its own. Resolves when it has ended with exit code 0, else throws an
 * error with the end of its output. What is killed is killed with all of its group, and is gone by then.
 */
export async function runProgram(
  argv: Argv,
  { signal, onChild, onOutput }: Omit<ActionContext, keyof Contents>,
): Promise<void> {
  signal.throwIfAborted()
  const { child, pid, exited } = await start(argv, 'pipe')
  const closed = once(child, 'close').catch(() => {})
  let output = Buffer.alloc(0)
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk: Buffer) => {
      output = Buffer.concat([output, chunk]).subarray(-OUTPUT_BYTES)
    })
    if (child[name] !== null) onOutput?.(child[name], name)
  }
  const ended = exited.then(() => '')
  onChild?.(pid, ended)

  const wasCut = await Promise.race([exited.then(() => false), aborted(signal, child).then(() => true)])
  const how = wasCut ? ` ${signal.reason.message}: ${await killGroup(pid, exited)}` : `: ${await exited}`
  await Promise.race([closed, sleep(LAST_WORDS, undefined, { ref: false })])
  child.stdout?.destroy()
  child.stderr?.destroy()
  if (wasCut || child.exitCode !== 0) throw failureWith(output, shown(argv[0]) + how)
}

/**
 * Keeps a program that goes on, and has this process's stdout and stderr. The action ends it, if it runs, and starts it; `stop` ends it, and `end` for good.
 *
 * @param stdin 'inherit': it has this process's stdin, too
 */
export function keepRunning(argv: Argv, stdin: 'ignore' | 'inherit' = 'ignore') {
  let isOver = false
  let endLast = async () => ''
  const action = async ({ onChild }: Pick<ActionContext, 'onChild'>) => {
    await endLast()
    if (isOver) return
    const { pid, exited } = await start(argv, 'inherit', stdin)
    let ending: Promise<string> | undefined
    endLast = () => (ending ??= killGroup(pid, exited))
    const ended = exited.then((how) => {
      const text = `${shown(argv[0])} has ended (${how}), and is started again at the next change`
      const isOurs = ending !== undefined
      // With what it leaves behind: the group's number may be another's later.
      ending ??= killGroup(pid, exited)
      return isOurs ? '' : text
    })
    onChild?.(pid, ended)
    if (isOver) await endLast()
  }
  const end = () => {
    isOver = true
    return endLast()
  }
  return { action, stop: () => endLast(), end }
}

/**
 * Starts it in a process group of its own; throws an error that says why it cannot be. `exited` resolves with the way in which it has ended,
 * once it has been waited for.
 */
async function start([file, ...args]: Argv, out: 'pipe' | 'inherit', stdin: 'ignore' | 'inherit' = 'ignore') {
  // detached: setsid(2), so that what it starts can be found by its group.
  const child = withUsualLimit(() => spawn(file, args, { detached: true, stdio: [stdin, out, out] }))
  await once(child, 'spawn').catch((error: NodeJS.ErrnoException) => {
    throw notStarted(error, file)
  })
  const exited: Promise<string> = once(child, 'exit').then(([code, signal]) =>
    signal === null ? `exit code ${code}` : `killed by ${signal}`,
  )
  return { child, pid: child.pid as number, exited }
}

function shown(file: string): string {
  return `'${printable(file)}'`
}

const HINTS: Readonly<Record<string, string>> = {
  ENOENT:
    'there is no such program, or not the interpreter that its first line names; it is looked for in PATH, and run without a shell',
  EACCES: 'it cannot be executed: chmod +x, and a mount without noexec',
}

function notStarted({ code = '' }: NodeJS.ErrnoException, file: string): Error {
  // Opened before the program is looked for, and by that program's error.
  const missing = devNullMissing()
  if (missing !== undefined) return new Error(`${shown(file)}: ${missing}`)
  return new Error(`${shown(file)}: ${code}: ${HINTS[code] ?? 'it could not be started'}`)
}

/**
 * Ends all of a process group: SIGTERM, and SIGKILL to what is left of it after the grace. Returns the outcome.
 *
 * @param exited when the process has been waited for that began it
 */
async function killGroup(group: number, exited: Promise<unknown>): Promise<string> {
  let how = 'SIGTERM'
  kill(-group, 'SIGTERM')
  // A stopped process takes no SIGTERM.
  kill(-group, 'SIGCONT')
  if (await outlasts(group)) {
    how = 'SIGTERM and SIGKILL'
    // No other group gets its number while it has a process.
    kill(-group, 'SIGKILL')
    await outlasts(group)
  }
  // A process of another user's, or in a call on a dead mount, cannot be killed.
  const hasEnded = await Promise.race([exited.then(() => true), sleep(GRACE, false, { ref: false })])
  return `its process group was ${hasEnded ? `killed by ${how}` : `sent ${how}, and is still there`}`
}

/** Returns true if the group is there still after the grace. */
async function outlasts(group: number): Promise<boolean> {
  const until = performance.now() + GRACE
  for (let pause = 10; isRunning(group); pause = Math.min(2 * pause, 160)) {
    // Checks once more after the time: this process may not have been running either.
    if (performance.now() >= until) return true
    await sleep(pause)
  }
  return false
}

/** Returns true if the group has any process but zombies: its orphans become init's children, and an init in a container may wait for them late, or never. */
function isRunning(group: number): boolean {
  try {
    return process.kill(-group, 0) && allProcesses().some((each) => each.group === group)
  } catch (error) {
    // The rest of the group has become another user's, whom /proc may hide; or there is no /proc.
    return codeOf(error) !== 'ESRCH'
  }
}
