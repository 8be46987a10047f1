import { constants, fstatSync } from 'node:fs'
import { addAbortSignal } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { InotifyError } from '../errors.ts'
import { CallError } from '../mounts/call_error.ts'
import { Calls } from '../mounts/calls.ts'

const CHUNK = 1024 * 1024

/** What is to be published. */
export interface Input {
  readonly data: Buffer
  /** Permission bits; undefined of what is no file, such as a pipe. */
  readonly mode: number | undefined
  readonly group: bigint | undefined
}

/** All of stdin. Rejects when the signal aborts: what has come by then is no whole. */
export async function readStdin(signal: AbortSignal): Promise<Input> {
  try {
    const rights = rightsOf(fstatSync(0, { bigint: true }))
    return { data: await buffer(addAbortSignal(signal, process.stdin)), ...rights }
  } catch (error) {
    throw signal.aborted ? interrupted('stdin') : error
  }
}

/**
 * All of a file, or of a FIFO (`<(...)` of a shell). By a thread that can be left behind: one of libuv's pool that waits for a writer, or
 * for a server, keeps the process from ending. Rejects when the signal aborts.
 */
export async function readInput(path: string, signal: AbortSignal): Promise<Input> {
  const calls = new Calls()
  const end = () => calls.end()
  signal.addEventListener('abort', end, { once: true })
  try {
    const { fd, stat } = await calls.open(path, constants.O_RDONLY)
    const chunks: Buffer[] = []
    for (;;) {
      const chunk = await calls.read(fd, CHUNK)
      if (chunk.length === 0) return { data: Buffer.concat(chunks), ...rightsOf(stat) }
      chunks.push(chunk)
    }
  } catch (error) {
    if (signal.aborted) throw interrupted('its input')
    if (!(error instanceof CallError)) throw error
    throw new InotifyError({ errno: -error.errno, syscall: error.syscall, path })
  } finally {
    signal.removeEventListener('abort', end)
    calls.end()
  }
}

function rightsOf(stat: { isFile(): boolean; mode: bigint; gid: bigint }): Omit<Input, 'data'> {
  if (!stat.isFile()) return { mode: undefined, group: undefined }
  return { mode: Number(stat.mode & 0o777n), group: stat.gid }
}

function interrupted(what: string): Error {
  return new Error(`interrupted before ${what} had ended: nothing was published`)
}
