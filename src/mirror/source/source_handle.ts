import { constants } from 'node:os'
import { CallError } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle, HeldFile, ReadFile } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { LinksOutside } from './errors.ts'
import type { SingleFile } from './single_file.ts'

/** A source, or a directory of it, while it is read. */
export interface SourceHandle extends AsyncDisposable {
  readonly revalidates: boolean
  /** The stat of the source when it was opened. */
  readonly opened: FileStat
  /** The stat of a single file's directory before the look into it. */
  readonly place?: FileStat
  stat(): Promise<FileStat>
  /** The first `most` names. */
  names(most: number): Promise<Buffer[]>
  lstat(name: string | Buffer): Promise<FileStat>
  directory(name: string): Promise<DirectoryHandle>
  /** Opens a regular file and reads up to `most` bytes; EPROTOTYPE for what is none. */
  file(name: string, most: number): Promise<ReadFile>
  /** Opens a reference to an entry of any type. */
  hold(name: string): Promise<HeldFile>
}

/**
 * A single file as a directory that has only this: what is mirrored file by file is mirrored like any other.
 */
export class SoleFile implements SourceHandle {
  readonly opened: FileStat
  readonly place: FileStat
  readonly #parent: DirectoryHandle
  readonly #name: string
  readonly #outside: string | undefined
  /** The file's name in the target. */
  readonly #alias: string

  constructor({ parent, name, stat, place, outside }: SingleFile, alias: string) {
    this.opened = stat
    this.place = place
    this.#parent = parent
    this.#name = name
    this.#outside = outside
    this.#alias = alias
  }

  get revalidates(): boolean {
    return this.#parent.revalidates
  }

  stat(): Promise<FileStat> {
    return this.#parent.lstat(this.#name)
  }

  async names(): Promise<Buffer[]> {
    return [Buffer.from(this.#alias)]
  }

  async lstat(): Promise<FileStat> {
    if (this.#outside !== undefined) throw new LinksOutside("the source's directory", this.#outside)
    return await this.stat()
  }

  async directory(): Promise<DirectoryHandle> {
    throw new CallError(constants.errno.ENOTDIR, 'open')
  }

  file(_name: string, most: number): Promise<ReadFile> {
    return this.#parent.file(this.#name, most)
  }

  hold(): Promise<HeldFile> {
    return this.#parent.hold(this.#name)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parent.close()
  }
}
