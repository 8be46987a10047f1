import { randomBytes } from 'node:crypto'
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { InotifyError } from '../../errors.ts'

/**
 * A file that exists while the command is ready: for a probe that runs `test -e`, and for watchers of its IN_MOVED_TO. It is never there
 * half-written. A file that a killed run left is removed before anything else is done.
 */
export class ReadyFile implements Disposable {
  readonly #path: string
  #present = false
  // Also when an error ends the process. Nobody is left to tell about an obstacle in the file's place.
  readonly #onExit = () => {
    try {
      this.#remove()
    } catch {}
  }

  /** Throws as unlink(2) and open(2) do, if no such file can be made there. */
  constructor(path: string) {
    this.#path = path
    this.#remove()
    // Tests now if the file can be written, and not after a first pass that took its time.
    rmSync(this.#draft())
    process.once('exit', this.#onExit)
  }

  /** Creates or removes the file. Called also without a change: somebody may have removed the file, or put something in its place, ready or not. */
  set(ready: boolean): void {
    if (ready) {
      if (!this.#isThere()) this.#put()
    } else this.#remove()
    this.#present = ready
  }

  /** Removes the file. Throws as unlink(2) does if the entry in its place cannot be removed. */
  [Symbol.dispose](): void {
    process.off('exit', this.#onExit)
    this.#present = false
    this.#remove()
  }

  #put(): void {
    const draft = this.#draft()
    try {
      renameSync(draft, this.#path)
    } catch (error) {
      // By now a directory, for one, may have the name.
      throw this.#failure(draft, error)
    }
  }

  #isThere(): boolean {
    // A symlink of another user's may lead to something, or not.
    return this.#present && lstatSync(this.#path, { throwIfNoEntry: false })?.isFile() === true
  }

  #draft(): string {
    // In the same directory: rename(2) does not cross mounts. A name that nobody can foresee: in a sticky directory, another's file could be
    // neither removed nor used.
    const name = `.${basename(this.#path)}.${randomBytes(6).toString('hex')}`
    const draft = join(dirname(this.#path), name)
    try {
      writeFileSync(draft, 'ready\n', { flag: 'wx' })
    } catch (error) {
      throw this.#failure(draft, error)
    }
    return draft
  }

  /**
   * Removes the draft, as the next try makes one of another name. The error names the file and not the draft, so that one trouble is
   * told once while it lasts.
   */
  #failure(draft: string, error: unknown): unknown {
    try {
      rmSync(draft, { force: true })
    } catch {}
    const { errno, syscall } = error as NodeJS.ErrnoException
    if (errno === undefined || syscall === undefined) return error
    return new InotifyError({ errno: -errno, syscall, path: this.#path })
  }

  #remove(): void {
    rmSync(this.#path, { force: true })
  }
}
