import { randomBytes } from 'node:crypto'
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { InotifyError, messageOf, printable } from '../../errors.ts'
import { fieldsOf, tell } from '../shared/output.ts'

/** The ms between two checks for a file that another user has laid while the command is not ready, when nothing may be told. */
const FORGED_INTERVAL = 1000

/**
 * Keeps a file that exists while the command is ready, until disposed of: for a probe that runs `test -e`, and for watchers of its IN_MOVED_TO. It is never
 * there half-written. A file that a killed run left is removed before anything else is done. Throws one line that says why there can be no such file.
 */
export function keepReadyFile(path: string, isReady: () => boolean): Disposable & { check(): void } {
  let [isPresent, isOver, trouble] = [false, false, '']
  let timer: NodeJS.Timeout | undefined

  /** Tells a trouble once while it lasts. The command goes on, and tries again at the next check. */
  const attempt = (action: () => void) => {
    let message = ''
    try {
      action()
    } catch (error) {
      message = `--ready-file: ${messageOf(error)}`
      if (message !== trouble) tell(message, 'error', fieldsOf(error))
    }
    trouble = message
  }
  /** Creates or removes the file. Called also without a change: somebody may have removed the file, or put something in its place, ready or not. */
  const check = () => {
    if (isOver) return
    const mayBe = isReady()
    attempt(() => {
      if (!mayBe) rmSync(path, { force: true })
      // A symlink of another user's may lead to something, or not.
      else if (!isPresent || !lstatSync(path, { throwIfNoEntry: false })?.isFile())
        make(path, (draft) => renameSync(draft, path))
      isPresent = mayBe
    })
    clearTimeout(timer)
    // Not while the command is ready, so that the process is not woken up.
    if (!mayBe) timer = setTimeout(check, FORGED_INTERVAL).unref()
  }
  /** Removes the file, once: later the file may be a successor's. The command ends as it should whatever has become of the file. */
  const end = () => {
    if (isOver) return
    isOver = true
    process.off('exit', end)
    clearTimeout(timer)
    attempt(() => rmSync(path, { force: true }))
  }

  try {
    rmSync(path, { force: true })
    // Tests now if the file can be written, and not after a first pass that took its time.
    make(path, (draft) => rmSync(draft))
  } catch (cause) {
    const why = printable(messageOf(cause))
    throw new Error(`--ready-file: ${why}; name a file in a directory that can be written`, { cause })
  }
  // Also when an error ends the process.
  process.once('exit', end)
  check()
  return { check, [Symbol.dispose]: end }
}

/**
 * Makes a draft beside the file, and has it used. The error of either names the file and not the draft, so that one trouble is told
 * once while it lasts: the next draft has another name.
 */
function make(path: string, use: (draft: string) => void): void {
  // In the same directory: rename(2) does not cross mounts. A name that nobody can foresee: in a sticky directory, another's file could be
  // neither removed nor used.
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
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
    throw new InotifyError({ errno: -errno, syscall, path })
  }
}
