import { randomBytes } from 'node:crypto'
import { type Dir, lstatSync, opendirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { InotifyError } from '../../errors.ts'

/** Names that are looked at for drafts: whoever may write the directory does not keep the command from beginning. */
const MAX_NAMES = 65_536

/**
 * A file that is there while what it speaks of is ready: for a probe that runs `test -e`, and for whoever waits for its
 * IN_MOVED_TO. It is never there half-written, and one that a killed run left is removed before anything else is done.
 */
export class ReadyFile implements Disposable {
  readonly #path: string
  #present = false
  // Also where an error ends the process; of what is in its place there is nobody left to tell.
  readonly #onExit = () => {
    try {
      this.#remove()
    } catch {}
  }

  /** Throws as unlink(2) and open(2) do, if no such file can be made there. */
  constructor(path: string) {
    this.#path = path
    this.#remove()
    this.#removeDrafts()
    // Whether it can be written shows now, and not after a first pass that took its time.
    rmSync(this.#draft())
    process.once('exit', this.#onExit)
  }

  /** To be called again while nothing has changed: somebody may have removed it, or put something in its place, ready or not. */
  set(ready: boolean): void {
    if (ready) {
      if (!this.#isThere()) this.#put()
    } else this.#remove()
    this.#present = ready
  }

  /** Throws as unlink(2) does, if what is there now cannot be removed. */
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
      // A directory, for one, is there by now.
      throw this.#failure(draft, error)
    }
  }

  #isThere(): boolean {
    // A symlink that another has laid there may lead to something, or not.
    return this.#present && lstatSync(this.#path, { throwIfNoEntry: false })?.isFile() === true
  }

  #draft(): string {
    // A name that nobody foresees: one that another has laid in a sticky directory could neither be removed nor be used.
    const draft = `${this.#draftPrefix}${randomBytes(6).toString('hex')}`
    try {
      writeFileSync(draft, 'ready\n', { flag: 'wx' })
    } catch (error) {
      throw this.#failure(draft, error)
    }
    return draft
  }

  /**
   * Leaves no draft behind, for the next try makes one of another name. For that reason the error names the file: what is wrong is told
   * once while it lasts.
   */
  #failure(draft: string, error: unknown): unknown {
    try {
      rmSync(draft, { force: true })
    } catch {}
    const { errno, syscall } = error as NodeJS.ErrnoException
    if (errno === undefined || syscall === undefined) return error
    return new InotifyError({ errno: -errno, syscall, path: this.#path })
  }

  /** Those of killed runs; a run that goes on has one for no longer than a rename takes. */
  #removeDrafts(): void {
    const prefix = basename(this.#draftPrefix)
    let directory: Dir
    try {
      directory = opendirSync(dirname(this.#path))
    } catch {
      // It may be one that can be written but not read; if there is more to it, what is written next shows it.
      return
    }
    try {
      for (let n = 0; n < MAX_NAMES; n++) {
        const name = directory.readSync()?.name
        if (name === undefined) return
        const isDraft = name.startsWith(prefix) && /^[0-9a-f]{12}$/.test(name.slice(prefix.length))
        if (isDraft) removeOwn(join(dirname(this.#path), name))
      }
    } finally {
      directory.closeSync()
    }
  }

  get #draftPrefix(): string {
    // In the same directory: rename(2) does not cross mounts.
    return join(dirname(this.#path), `.${basename(this.#path)}.`)
  }

  #remove(): void {
    rmSync(this.#path, { force: true })
  }
}

/** A regular file of this user's. */
function removeOwn(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isFile() && stat.uid === process.geteuid?.()) rmSync(path, { force: true })
}
