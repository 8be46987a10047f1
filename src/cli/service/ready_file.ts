import { randomBytes } from 'node:crypto'
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { InotifyError, messageOf, printable } from '../../errors.ts'
import { fieldsOf, tell } from '../shared/output.ts'

/** The ms between two checks for a file that another user has laid while the command is not ready, when nothing may be told. */
const FORGED_INTERVAL = 1000

/**
 * A file that exists while the command is ready: for a probe that runs `test -e`, and for watchers of its IN_MOVED_TO. It is never there
 * half-written. A file that a killed run left is removed before anything else is done.
 */
export class ReadyFile implements Disposable {
  readonly #path: string
  readonly #isReady: () => boolean
  #present = false
  #trouble = ''
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  // Also when an error ends the process.
  readonly #onExit = () => this[Symbol.dispose]()

  /** Throws one line that says why there can be no such file. */
  constructor(path: string, isReady: () => boolean) {
    this.#path = path
    this.#isReady = isReady
    try {
      rmSync(path, { force: true })
      // Tests now if the file can be written, and not after a first pass that took its time.
      this.#make((draft) => rmSync(draft))
    } catch (error) {
      const why = printable(messageOf(error))
      const message = `--ready-file: ${why}; name a file in a directory that can be written`
      throw new Error(message, { cause: error })
    }
    process.once('exit', this.#onExit)
    this.check()
  }

  /** Creates or removes the file. Called also without a change: somebody may have removed the file, or put something in its place, ready or not. */
  check(): void {
    if (this.#isOver) return
    const isReady = this.#isReady()
    this.#try(() => {
      if (!isReady) rmSync(this.#path, { force: true })
      // A symlink of another user's may lead to something, or not.
      else if (!this.#present || !lstatSync(this.#path, { throwIfNoEntry: false })?.isFile())
        this.#make((draft) => renameSync(draft, this.#path))
      this.#present = isReady
    })
    clearTimeout(this.#timer)
    // Not while the command is ready, so that the process is not woken up.
    if (!isReady) this.#timer = setTimeout(() => this.check(), FORGED_INTERVAL).unref()
  }

  /** Removes the file, once: later the file may be a successor's. The command ends as it should whatever has become of the file. */
  [Symbol.dispose](): void {
    if (this.#isOver) return
    this.#isOver = true
    process.off('exit', this.#onExit)
    clearTimeout(this.#timer)
    this.#try(() => rmSync(this.#path, { force: true }))
  }

  /** Tells a trouble once while it lasts. The command goes on, and tries again at the next check. */
  #try(action: () => void): void {
    let message = ''
    try {
      action()
    } catch (error) {
      message = `--ready-file: ${messageOf(error)}`
      if (message !== this.#trouble) tell(message, 'error', fieldsOf(error))
    }
    this.#trouble = message
  }

  /**
   * Makes a draft beside the file, and has it used. The error of either names the file and not the draft, so that one trouble is told
   * once while it lasts: the next draft has another name.
   */
  #make(use: (draft: string) => void): void {
    // In the same directory: rename(2) does not cross mounts. A name that nobody can foresee: in a sticky directory, another's file could be
    // neither removed nor used.
    const name = `.${basename(this.#path)}.${randomBytes(6).toString('hex')}`
    const draft = join(dirname(this.#path), name)
    try {
      writeFileSync(draft, 'ready\n', { flag: 'wx' })
      use(draft)
    } catch (error) {
      try {
        rmSync(draft, { force: true })
      } catch {
        // The first error is the one to be told.
      }
      const { errno, syscall } = error as NodeJS.ErrnoException
      if (errno === undefined || syscall === undefined) throw error
      throw new InotifyError({ errno: -errno, syscall, path: this.#path })
    }
  }
}
