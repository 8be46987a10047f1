import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

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
    // Whether it can be written shows now, and not after a first pass that took its time.
    rmSync(this.#draft())
    process.once('exit', this.#onExit)
  }

  /** To be called again while nothing has changed: somebody may have removed it, or put something else in its place. */
  set(ready: boolean): void {
    if (ready) {
      if (!this.#isThere()) this.#put()
    } else if (this.#present) this.#remove()
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
      rmSync(draft, { force: true })
      throw error
    }
  }

  #isThere(): boolean {
    // A symlink that another has laid there may lead to something, or not.
    return this.#present && lstatSync(this.#path, { throwIfNoEntry: false })?.isFile() === true
  }

  #draft(): string {
    // In the same directory: rename(2) does not cross mounts.
    const draft = join(dirname(this.#path), `.${basename(this.#path)}.${process.pid}`)
    // A killed run had the same pid, as the first process of each container has.
    rmSync(draft, { force: true })
    writeFileSync(draft, 'ready\n', { flag: 'wx' })
    return draft
  }

  #remove(): void {
    rmSync(this.#path, { force: true })
  }
}
