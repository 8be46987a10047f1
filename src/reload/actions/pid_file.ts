import { InotifyError, printable } from '../../errors.ts'
import { CallError } from '../../mounts/syscalls/call_error.ts'
import { resolvePath } from '../../mounts/syscalls/resolve_path.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { processOf } from './process_stat.ts'
import { signalProcess, startedAt } from './processes.ts'

/** The ms by which a file may seem older than it is, by the kernel's ticks and small steps of the clock. */
const CLOCK_SLACK = 1000
/** The most bytes of a pid file: a pid and a line's end are shorter. */
const PID_FILE_BYTES = 64

/**
 * Sends a signal to the process that a pid file names, and not to another that has its pid by now.
 *
 * @throws {InotifyError} the file is not there, or cannot be read
 * @throws {Error} it names no process, or should not be believed
 */
export async function signalPidFile(
  path: string,
  signal: NodeJS.Signals,
  calls: SyscallThread,
): Promise<void> {
  const { text, opened, links } = await read(path, calls)
  if (Number(opened.mode) & 0o022) throw refusal(path, 'others than its owner may write it: chmod go-w')
  // A user who may link to root's files (fs.protected_hardlinks=0) could choose among all its pid files.
  const linked = `it has ${opened.nlink} names (hard links): have it written anew, as one file of its own`
  if (opened.nlink > 1n) throw refusal(path, linked)
  const pid = Number(/^\s*(\d{1,10})\s*$/.exec(text)?.[1] ?? 0)
  if (pid === 0 || pid >= 2 ** 31) {
    const isEmpty = text.trim() === ''
    throw refusal(path, isEmpty ? 'it is empty: is the process about to write it?' : 'it holds no pid')
  }
  // Another namespace's pid file most often names pid 1, as a container's only process has it.
  const elsewhere = 'another pid namespace (shareProcessNamespace: true in a pod)?'
  if (pid === process.pid)
    throw refusal(path, `it names process ${pid}, which is this reloader; was it written in ${elsewhere}`)
  const found = processOf(pid)
  if (found === undefined) {
    const why = `it names process ${pid}, and there is none; has it ended, or is it in ${elsewhere}`
    throw refusal(path, why, 'is stale')
  }
  const named = `process ${pid} ('${printable(found.comm)}'`
  const late = startedAt(found) - Number(opened.mtimeNs / 1_000_000n)
  if (late > CLOCK_SLACK) {
    const why = `it was written ${Math.round(late / 1000)} s before ${named}) was started, which is another that has its pid; remove it, and start what should have written it`
    throw refusal(path, why, 'is stale')
  }
  // Includes the symlinks that the last name led over: a user who lays a link chooses among all pid files. Symlinks in place of a directory
  // on the way are not judged: the directories on the way are as trusted as the command line that names them.
  const owners = [opened, ...links].map(({ uid }) => Number(uid))
  const trusted = new Set([0, process.geteuid?.()])
  // Each user who has made the file what it is must be one who may signal the process himself. Else a user who may write the directory could have
  // this process, perhaps root's, signal any process.
  signalProcess(found, signal, (senders) => {
    const stranger = owners.find((owner) => !trusted.has(owner) && !senders.has(owner))
    if (stranger === undefined) return
    const why = `it, or a symlink that leads to it, belongs to user ${stranger}, who may not signal ${named}, of user ${[...senders].join(' and ')}): it must belong to root, to the user of this reloader (${process.geteuid?.()}) or to that process's; put it into a directory that only they may write`
    throw refusal(path, why)
  })
}

/** Reads the file, and returns its stat when it was opened: the name may have become another's since. */
async function read(path: string, calls: SyscallThread) {
  try {
    const { parent, name, stat, links } = await resolvePath(calls, path)
    await using directory = parent
    // Before the open: for a FIFO the open would be the event that its writer waits for.
    if (!stat.isFile()) {
      const kinds = { FIFO: stat.isFIFO(), socket: stat.isSocket(), directory: stat.isDirectory() }
      const [kind] = Object.entries(kinds).find(([, is]) => is) ?? ['device']
      throw refusal(path, `it is a ${kind}: name the regular file that the process writes its pid to`)
    }
    await using file = await directory.file(name, PID_FILE_BYTES + 1)
    return { text: file.content.toString('latin1'), opened: file.opened, links }
  } catch (error) {
    if (!(error instanceof CallError) || error.code === 'ECANCELED') throw error
    const hint =
      error.code === 'ENOENT' ? 'is the process running, and does it write one?' : 'it cannot be read'
    throw new InotifyError({ errno: -error.errno, syscall: 'open', path, hint })
  }
}

function refusal(path: string, why: string, is = 'cannot be used'): Error {
  return new Error(`the pid file '${printable(path)}' ${is}: ${why}`)
}
