import { randomBytes } from 'node:crypto'
import { codeOf } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser } from '../../mounts/syscalls/ownership.ts'
import type { At } from '../../mounts/syscalls/syscall_thread.ts'
import { removeLeftovers, TEMPORARY_PREFIX } from './leftovers.ts'

/** The most times that another publisher may take the entry for a leftover. */
export const ATTEMPTS = 20

/** An entry that is made ready beside its destination, under a temporary name. */
export interface Ready {
  readonly name: string
  /** The stat of its descriptor after it was made. */
  readonly opened: FileStat
  /** The owners whose leftovers are removed. */
  readonly owners: ReadonlySet<bigint>
  /** Removes the entry, unless it has been given its name. */
  remove(): Promise<void>
}

/** Another publisher has removed the entry that was made ready. */
export class Swept extends Error {
  override readonly name = 'Swept'

  /** @param options.cause the error that is thrown if it happens again and again */
  constructor(message: string, options: { cause: unknown }) {
    super(message, options)
  }
}

/** Cleans up behind killed publishers, and has an entry made ready and given its name. */
export async function withReady<R extends Ready, T>(
  directory: DirectoryHandle,
  create: (directory: DirectoryHandle) => Promise<R>,
  make: (ready: R) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    let ready: R | undefined
    try {
      ready = await makeRoomFor(directory, create)
      const { name, opened, owners } = ready
      await removeLeftovers(directory, { now: opened.ctimeNs, owners, mine: name })
      return await make(ready)
    } catch (error) {
      if (!(error instanceof Swept)) throw error
      if (attempt === ATTEMPTS) throw error.cause
    } finally {
      await ready?.remove()
    }
  }
}

/** A name that nobody can foresee. */
export function temporaryName(): string {
  return TEMPORARY_PREFIX + randomBytes(6).toString('hex')
}

/** Awaits calls about the entry. If its name has gone, the entry has been swept. */
export async function unlessSwept<T>(calls: Promise<T>, codes: readonly string[] = ['ENOENT']): Promise<T> {
  try {
    return await calls
  } catch (error) {
    throw codes.includes(codeOf(error)) ? new Swept('what was made ready is gone', { cause: error }) : error
  }
}

/** Renames the ready entry to its name, in place of an entry with that name. */
export async function giveName(directory: DirectoryHandle, from: At, name: string | Buffer): Promise<void> {
  await unlessSwept(directory.calls.rename(from, directory.at(name)))
}

/** Makes the entry, if need be after a cleanup: leftovers may be all that fills the file system. */
async function makeRoomFor<T>(
  directory: DirectoryHandle,
  make: (directory: DirectoryHandle) => Promise<T>,
): Promise<T> {
  try {
    return await make(directory)
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error))) throw error
    const owners = new Set([effectiveUser()])
    await removeLeftovers(directory, { now: BigInt(Date.now()) * 1_000_000n, owners })
    return await make(directory)
  }
}
