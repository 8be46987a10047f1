import { constants } from 'node:os'
import { CallError } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle, HeldFile, ReadFile } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import type { At } from '../../mounts/syscalls/syscall_thread.ts'
import { LinksOutside } from './errors.ts'
import type { SingleFile } from './single_file.ts'

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

/**
 * A single file as a directory that has only this: what is mirrored file by file is mirrored like any other.
 */
export class SoleFile implements SourceHandle {
  readonly #file: SingleFile
  /** The file's name in the target. */
  readonly #alias: string

  constructor(file: SingleFile, alias: string) {
    this.#file = file
    this.#alias = alias
  }

  get revalidates(): boolean {
    return this.#file.parent.revalidates
  }

  get opened(): FileStat {
    return this.#file.stat
  }

  get place(): FileStat {
    return this.#file.above.opened
  }

  at(name?: string): At {
    const { above, parent, name: own } = this.#file
    return name === undefined ? above.at() : parent.at(own)
  }

  stat(): Promise<FileStat> {
    return this.#file.parent.lstat(this.#file.name)
  }

  async names(): Promise<Buffer[]> {
    return [Buffer.from(this.#alias)]
  }

  async lstat(): Promise<FileStat> {
    const { outside } = this.#file
    if (outside !== undefined) throw new LinksOutside("the source's directory", outside)
    return await this.stat()
  }

  async directory(): Promise<DirectoryHandle> {
    throw new CallError(constants.errno.ENOTDIR, 'open')
  }

  file(_name: string, most: number): Promise<ReadFile> {
    return this.#file.parent.file(this.#file.name, most)
  }

  hold(): Promise<HeldFile> {
    return this.#file.parent.hold(this.#file.name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { above, parent } = this.#file
    await above.close()
    if (parent !== above) await parent.close()
  }
}
