import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, readFileSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Duplex } from 'node:stream'
import { findEnter } from '../../addon.ts'
import { describeErrno, messageOf, printable } from '../../errors.ts'
import { O_PATH } from '../../mounts/syscalls/syscall_thread.ts'
import { withUsualLimit } from '../../reload/actions/open_files.ts'
import { CommandError, endOf } from '../shared/ending.ts'
import { whyForbidden } from './namespace_policy.ts'

/** The command to run, and the directory to cover. */
export interface EnterRequest {
  /** The absolute path, without symlinks. */
  readonly directory: string
  /** The most bytes that the tmpfs may hold. */
  readonly size: bigint
  /** The directory, or one beneath it, which the command enters anew before it starts; '' leaves the working directory as it is. */
  readonly workingDirectory: string
  readonly command: readonly [string, ...string[]]
}

/**
 * Starts a process that enters a mount namespace of its own, mounts an empty tmpfs over a directory, and waits to become a command. At disposal it is ended if
 * it has not become the command, and its end is waited for.
 */
export async function enter(request: EnterRequest) {
  const { directory, size, workingDirectory, command } = request
  const program = findEnter()
  // Relative to the mounted directory, as the absolute path may lead elsewhere by then.
  const within = workingDirectory === '' ? '' : `.${workingDirectory.slice(directory.length)}`
  const child = withUsualLimit(() =>
    spawn(program, [directory, String(size), within, ...command], {
      // The last is a socket (unix(7)): each side notices the other's end.
      stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    }),
  )
  await once(child, 'spawn').catch((cause) => {
    const hint = 'its mode must allow it (chmod +x), and its mount must not be noexec'
    throw new Error(`'${printable(program)}' cannot be run: ${messageOf(cause)} (${hint})`, { cause })
  })
  const ended = endOf(child)
  const socket = child.stdio[3] as Duplex
  const input = createInterface({ input: socket })
  const lines = input[Symbol.asyncIterator]()
  // A write to a process that has ended fails: its exit status tells more.
  socket.on('error', () => input.close())
  /** Returns the words of the process's next line; none at the end. */
  const answer = async (): Promise<string[]> => {
    // Rejects as the socket fails when the process has ended: its exit status tells more.
    const { value } = await lines.next().catch(() => ({ value: undefined }))
    return value?.split(' ') ?? []
  }
  let root: FileHandle | undefined
  return {
    child,
    /** The end of the process, or of the command that it has become. */
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    /**
     * Resolves with the path of the tmpfs for this process when it is mounted; the path ends with this object. undefined: the process
     * was ended before. Rejects with one line that says what the kernel or a policy forbids.
     */
    async covered(): Promise<string | undefined> {
      let [word, ...rest] = await answer()
      if (word === 'map') {
        const { pid = 0 } = child
        socket.write(Uint8Array.of(Number(mapAll(pid, 'uid_map')) | (Number(mapAll(pid, 'gid_map')) << 1)))
        ;[word, ...rest] = await answer()
      }
      if (word === undefined) return undefined
      if (word !== 'ready') throw failure(request, rest)
      // Opens the descriptor's link in /proc, which leads to this very mount: a path would be looked up in our own tree.
      root = await open(`/proc/${child.pid}/fd/${rest[0]}`, O_PATH | constants.O_DIRECTORY)
      return `/proc/self/fd/${root.fd}`
    },
    /** Starts the command; resolves when it runs or has been ended, or rejects with a {@link CommandError}. */
    async go(): Promise<void> {
      socket.write('\n')
      // On success no line comes: execve(2) closes the other end.
      const [word, ...rest] = await answer()
      if (word !== undefined) throw failure(request, rest)
    },
    async [Symbol.asyncDispose](): Promise<void> {
      socket.destroy()
      await ended
      await root?.close()
    },
  }
}

/**
 * Gives a new user namespace all ids that there are here, so that the command can become another user, as far as this process has the
 * rights to: CAP_SETUID, CAP_SETGID, CAP_SETFCAP, which root in a container usually has. Returns true if it could.
 */
function mapAll(pid: number, map: 'uid_map' | 'gid_map'): boolean {
  try {
    const ours = readFileSync(`/proc/self/${map}`, 'utf8').trim().split('\n')
    // A line: the first id here, the first id outside, the count. The ids here are the outer ids of the new namespace.
    const lines = ours
      .map((line) => line.trim().split(/\s+/))
      .map(([first, , count]) => `${first} ${first} ${count}\n`)
    writeFileSync(`/proc/${pid}/${map}`, lines.join(''))
    return true
  } catch {
    return false
  }
}

function failure(
  { directory, workingDirectory, command: [program] }: EnterRequest,
  [call = '', digits]: string[],
): Error {
  const errno = Number(digits)
  if (call === 'execvp') return new CommandError(program, errno)
  const [code, meaning] = describeErrno(errno)
  const why = `${code}: ${meaning}`
  if (call === 'chdir')
    return new Error(`the working directory '${printable(workingDirectory)}' is not in the mirror: ${why}`)
  if (call === 'open') {
    const replaced =
      code === 'ENOTDIR'
        ? ': it, or a directory on the way to it, was replaced while this began; start it again, and see who may write beside it'
        : ''
    return new Error(`${why}, open '${printable(directory)}'${replaced}`)
  }
  return new Error(`${why}, ${call}: ${whyForbidden(call, code)}`)
}
