import { addAbortListener } from 'node:events'
import { type BigIntStats, constants, fstatSync } from 'node:fs'
import { addAbortSignal } from 'node:stream'
import { InotifyError, printable } from '../../errors.ts'
import { CallError } from '../../mounts/syscalls/call_error.ts'
import { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { NEW_FILE_MODE } from '../../publish/arguments.ts'

const CHUNK = 1024 * 1024

/** The most bytes that are published: all input is held in memory, and more (a sparse file or a pipe may have any amount) is no configuration. */
export const MAX_INPUT_BYTES = 64 * 1024 * 1024

/** The content to publish. */
export interface Input {
  readonly data: Buffer
  /** The permission bits of a new file, which gives nobody a right that the source does not give. */
  readonly newMode: number
  /** undefined for input that is no file, such as a pipe, whose permissions do not count. */
  readonly group: bigint | undefined
}

/**
 * Reads all of stdin ('-'), of a file, or of a FIFO (`<(...)` of a shell). Rejects when the signal aborts, as the input is incomplete then.
 * A file is read by a thread that can be left behind: a thread of libuv's pool that waits for a writer, or for a server, keeps the process from ending.
 */
export async function readInput(file: string, signal: AbortSignal): Promise<Input> {
  const calls = new SyscallThread()
  using _ = addAbortListener(signal, () => calls.end())
  try {
    if (file === '-') {
      const stat = fstatSync(0, { bigint: true })
      return await collect('stdin', stat, addAbortSignal(signal, process.stdin), true)
    }
    const { fd, stat } = await calls.open(file, constants.O_RDONLY)
    return await collect(file, stat, chunksOf(calls, fd), stat.isFIFO())
  } catch (error) {
    const what = file === '-' ? 'stdin' : 'its input'
    if (signal.aborted) throw new Error(`interrupted before ${what} had ended: nothing was published`)
    if (!(error instanceof CallError)) throw error
    throw new InotifyError({ errno: -error.errno, syscall: error.syscall, path: file })
  } finally {
    calls.end()
  }
}

async function* chunksOf(calls: SyscallThread, fd: number): AsyncGenerator<Buffer> {
  for (let read = 0; ; ) {
    // One byte more than the limit tells that there is more.
    const chunk = await calls.read(fd, Math.min(CHUNK, MAX_INPUT_BYTES + 1 - read))
    if (chunk.length === 0) return
    read += chunk.length
    yield chunk
  }
}

/** @param isStream true: empty input is an error, as most often it is the output of a program that has failed */
async function collect(
  name: string,
  stat: Pick<BigIntStats, 'isFile' | 'size' | 'mode' | 'gid'>,
  chunks: AsyncIterable<Buffer>,
  isStream: boolean,
): Promise<Input> {
  if (stat.isFile() && stat.size > BigInt(MAX_INPUT_BYTES)) throw tooLarge(name)
  const read: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > MAX_INPUT_BYTES) throw tooLarge(name)
    read.push(chunk)
  }
  if (bytes === 0 && isStream) {
    const hint = 'has the program failed that writes it? To publish an empty file, name one: /dev/null'
    throw new Error(`${printable(name)} is empty, and nothing was published: ${hint}`)
  }
  const data = Buffer.concat(read)
  if (!stat.isFile()) return { data, newMode: NEW_FILE_MODE, group: undefined }
  return { data, newMode: NEW_FILE_MODE & Number(stat.mode), group: stat.gid }
}

function tooLarge(path: string): InotifyError {
  const hint = `more than ${MAX_INPUT_BYTES / 1024 / 1024} MiB is not published, as all of it is held in memory: move the file, by mv(1)`
  return new InotifyError({ errno: 'EFBIG', syscall: 'read', path, hint })
}
