import { randomBytes } from 'node:crypto'
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { InotifyError, messageOf, printable } from '../../errors.ts'
import { fieldsOf, tell } from '../shared/output.ts'
import type { Status } from './status.ts'

/** The ms between two checks for a file that another user has laid while the command is not ready, when nothing may be told. */
const FORGED_INTERVAL = 1000

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

/** Keeps a ready file as a status is, until disposed of. Throws one line that says why there can be none. */
export function keepReadyFile(path: string, status: Status): Disposable {
  const file = readyFileAt(path)
  let trouble = ''
  const act = (action: () => void) => {
    try {
      action()
      trouble = ''
    } catch (error) {
      // The command goes on, and tries the file again when it is told the next time.
      const message = `--ready-file: ${messageOf(error)}`
      if (message !== trouble) tell(message, 'error', fieldsOf(error))
      trouble = message
    }
  }
  let timer: NodeJS.Timeout | undefined
  const follow = () => {
    const isReady = status.unready === undefined
    act(() => file.set(isReady))
    clearTimeout(timer)
    // Not while the command is ready, so that the process is not woken up.
    if (!isReady) timer = setTimeout(follow, FORGED_INTERVAL).unref()
  }
  status.on('told', follow)
  follow()
  return {
    [Symbol.dispose]() {
      status.off('told', follow)
      clearTimeout(timer)
      // The command ends as it should whatever has become of the file.
      act(() => file[Symbol.dispose]())
    },
  }
}

function readyFileAt(path: string): ReadyFile {
  try {
    return new ReadyFile(path)
  } catch (error) {
    const why = messageOf(error)
    throw new Error(`--ready-file: ${printable(why)}; name a file in a directory that can be written`, {
      cause: error,
    })
  }
}
