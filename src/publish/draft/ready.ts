import { randomBytes } from 'node:crypto'
import { codeOf } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser } from '../../mounts/syscalls/ownership.ts'
import type { At } from '../../mounts/syscalls/syscall_thread.ts'
import { removeLeftovers, TEMPORARY_PREFIX } from './leftovers.ts'

/** How often another publisher may take what is being made ready for a leftover. */
export const ATTEMPTS = 20

/** What is made ready beside its destination, under a name for the time being. */
export interface Ready {
  readonly name: string
  /** What its descriptor showed when it had been made. */
  readonly opened: FileStat
  /** Whose leftovers are removed. */
  readonly owners: ReadonlySet<bigint>
  /** Removes what has not been given its name. */
  remove(): Promise<void>
}

/** Another publisher has removed what was made ready. */
export class Swept extends Error {
  override readonly name = 'Swept'

  /** @param options.cause what is told if it happens again and again */
  constructor(message: string, options: { cause: unknown }) {
    super(message, options)
  }
}

/** Cleans up behind those that were killed, and has something made ready and given its name. */
export async function withReady<R extends Ready, T>(
  directory: DirectoryHandle,
  create: () => Promise<R>,
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

/** Awaits calls about what is being made ready; where its name is not there any more, it has been swept. */
export async function unlessSwept<T>(calls: Promise<T>, codes: readonly string[] = ['ENOENT']): Promise<T> {
  try {
    return await calls
  } catch (error) {
    throw codes.includes(codeOf(error)) ? new Swept('what was made ready is gone', { cause: error }) : error
  }
}

/** rename(2) of what is ready to its name, in place of what has that. */
export async function giveName(directory: DirectoryHandle, from: At, name: string | Buffer): Promise<void> {
  await unlessSwept(directory.calls.rename(from, directory.at(name)))
}

/** What is left may be all that fills the file system. */
async function makeRoomFor<T>(directory: DirectoryHandle, make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error))) throw error
    const owners = new Set([effectiveUser()])
    await removeLeftovers(directory, { now: BigInt(Date.now()) * 1_000_000n, owners })
    return await make()
  }
}
