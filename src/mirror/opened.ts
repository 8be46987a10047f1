import { constants } from 'node:os'
import { CallError } from '../mounts/call_error.ts'
import type { FileStat } from '../mounts/file_stat.ts'
import type { HeldDirectory, HeldFile, ReadFile } from '../mounts/held.ts'

/** A source, or a directory of it, while it is read. */
export interface Opened extends AsyncDisposable {
  readonly revalidates: boolean
  /** What it was when it was opened. */
  readonly opened: FileStat
  stat(): Promise<FileStat>
  /** The first `most` names. */
  names(most: number): Promise<Buffer[]>
  lstat(name: string | Buffer): Promise<FileStat>
  directory(name: string): Promise<HeldDirectory>
  /** Opens a regular file and reads up to `most` bytes; EPROTOTYPE for what is none. */
  file(name: string, most: number): Promise<ReadFile>
  /** A reference to an entry, whatever it is. */
  hold(name: string): Promise<HeldFile>
}

/**
 * A single file as a directory that has only this: what is mirrored file by file is mirrored like any other. `parent` is where it
 * lies when all symlinks have been followed.
 */
export class SoleFile implements Opened {
  readonly opened: FileStat
  readonly #parent: HeldDirectory
  readonly #name: string
  /** As it is called in the target. */
  readonly #alias: string

  constructor(parent: HeldDirectory, name: string, opened: FileStat, alias: string) {
    this.opened = opened
    this.#parent = parent
    this.#name = name
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

  lstat(): Promise<FileStat> {
    return this.stat()
  }

  async directory(): Promise<HeldDirectory> {
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
