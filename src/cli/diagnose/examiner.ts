import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { printable } from '../../errors.ts'
import { type Examination, examineHere } from '../../mounts/diagnosis/examine.ts'
import { UnansweredError } from '../../mounts/diagnosis/path_resolution.ts'
import { mayHang } from '../../mounts/filesystems.ts'
import { type Mount, parseMountinfo } from '../../mounts/mountinfo.ts'

/** What has become of a question: an error is told as words, since it may come from another process. */
export type Answer =
  | { readonly examination: Examination }
  | { readonly message: string; readonly unanswered?: Unanswered | undefined }

/** A mount that does not answer, and what the mount table says of it. */
export interface Unanswered {
  readonly path: string
  readonly code: string
  readonly hint: string
  readonly mount: Mount | undefined
}

/**
 * Examines paths. Where there are mounts whose server may stop, by a process of their own: a thread that waits for a virtiofsd is beyond
 * SIGKILL, and a process that has one does not end, nor let go of its stdout.
 */
export class Examiner implements Disposable {
  #child: ChildProcess | undefined

  examine(path: string): Promise<Answer> {
    return this.#child === undefined && !mayAnyHang() ? answer(path) : this.#ask(path)
  }

  /** The process is left to its fate: it ends when it can. */
  [Symbol.dispose](): void {
    this.#child?.removeAllListeners()
    if (this.#child?.connected) this.#child.disconnect()
    this.#child?.kill('SIGKILL')
    this.#child?.unref()
  }

  #ask(path: string): Promise<Answer> {
    this.#child ??= fork(join(import.meta.dirname, 'examiner_child.js'), {
      // With what is in an examination that JSON has not.
      serialization: 'advanced',
      // None of ours: it would keep a pipe open for as long as it cannot end.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const child = this.#child
    return new Promise((resolve) => {
      // The next path gets another.
      const ended = (how: unknown) => {
        this.#child = undefined
        resolve({ message: `the process that asks about ${printable(path)} has ended: ${how}` })
      }
      child.removeAllListeners()
      child.once('message', (message) => resolve(message as Answer))
      child.once('error', (error) => ended(error.message))
      child.once('exit', (code, signal) => ended(signal ?? code))
      child.send(path)
    })
  }
}

/** The answer by this process. */
export async function answer(path: string): Promise<Answer> {
  try {
    return { examination: await examineHere(path) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (!(error instanceof UnansweredError)) return { message }
    const { code, hint, mount } = error
    return { message, unanswered: { path, code, hint, mount } }
  }
}

function mayAnyHang(): boolean {
  try {
    return parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).some(mayHang)
  } catch {
    return true
  }
}
