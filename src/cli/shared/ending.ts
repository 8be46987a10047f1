import { type EventEmitter, once } from 'node:events'
import { constants } from 'node:os'
import { describeErrno, printable } from '../../errors.ts'
import { tell } from './output.ts'
import { ours } from './reaper.ts'

/** The way in which a process has ended. */
export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The command cannot be run: with the exit code that a shell gives then (POSIX, 2.8.2). */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number

  /** @param errno of execve(2) */
  constructor(program: string, errno: number) {
    const isMissing = errno === constants.errno.ENOENT
    const what = isMissing ? 'was not found (or what its first line names)' : 'cannot be executed'
    super(`'${printable(program)}' ${what}: ${describeErrno(errno).join(': ')}`)
    this.exitCode = isMissing ? 127 : 126
  }
}

/** Resolves when a child ends, which is left to Node until then. Rejects as it could not be started. */
export async function endOf(child: EventEmitter & { pid?: number | undefined }): Promise<Ending> {
  const { pid = 0 } = child
  ours.add(pid)
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  ours.delete(pid)
  return { code, signal }
}

/** Leaves a program that goes on to Node until it ends, and tells how, unless that is '': this process has ended it. */
export function attend(pid: number, ended: Promise<string>): void {
  ours.add(pid)
  void ended.then((how) => {
    ours.delete(pid)
    if (how !== '') tell(how)
  })
}

/** Signals that make a core dump (signal(7)): one of this process would be taken for the command's, or written over it. */
const WITH_CORE: ReadonlySet<NodeJS.Signals> = new Set([
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGILL',
  'SIGQUIT',
  'SIGSEGV',
  'SIGSYS',
  'SIGTRAP',
  'SIGXCPU',
  'SIGXFSZ',
])

/**
 * Ends this process by the signal that ended the command that it has run, so that who waits for it sees the same; returns the command's
 * exit code, or a shell's for a signal where that cannot be: process 1 does not die of its own signals (pid_namespaces(7)), Node ignores SIGPIPE.
 */
export function endLike({ code, signal }: Ending): number {
  if (signal === null) return code ?? 1
  if (!WITH_CORE.has(signal)) process.kill(process.pid, signal)
  return 128 + constants.signals[signal]
}
