import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import type { At } from '../../mounts/syscalls/syscall_thread.ts'

/** A source, or a directory of it, while it is read. */
export interface SourceHandle
  extends AsyncDisposable,
    Pick<DirectoryHandle, 'revalidates' | 'stat' | 'lstat' | 'directory' | 'file' | 'hold'> {
  /** The stat of the source when it was opened. */
  readonly opened: FileStat
  /** The stat of a single file's directory before the look into it. */
  readonly place?: FileStat
  /** Returns the address of an entry; without a name that of the directory whose names lead there. */
  at(name?: string): At
  /** The first `most` names. */
  names(most: number): Promise<Buffer[]>
}

/** Runs in a directory beneath a source, by the names that lead there; none of them may be a symlink. */
export async function beneath<T>(
  held: SourceHandle,
  [first, ...rest]: readonly string[],
  run: (held: SourceHandle) => Promise<T>,
): Promise<T> {
  if (first === undefined) return await run(held)
  await using child = await held.directory(first)
  return await beneath(child, rest, run)
}
