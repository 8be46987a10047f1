import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf, printable } from '../../errors.ts'
import { devNullMissing } from '../../mounts/dev_null.ts'
import { type Examination, examineHere } from '../../mounts/diagnosis/examine.ts'
import { UnansweredError } from '../../mounts/diagnosis/path_resolution.ts'
import { beginProbe, type Probe } from '../../mounts/diagnosis/probe.ts'
import { mayHang } from '../../mounts/filesystems.ts'
import { type Mount, parseMountinfo } from '../../mounts/mountinfo.ts'
import { fieldsOf } from '../shared/output.ts'

/** What has become of a question: an error is told as words, since it may come from another process. */
export type Answer =
  | { readonly examination: Examination }
  | { readonly message: string; readonly fields?: object; readonly unanswered?: Unanswered | undefined }

/** A mount that does not answer, and what the mount table says of it. */
export interface Unanswered {
  readonly path: string
  readonly code: string
  readonly hint: string
  readonly mount: Mount | undefined
}

/** ms for which a probe is waited for: longer than it takes where nothing holds it. */
const PROBE_PATIENCE_MS = 5000

/** What the process beside this one is asked: to examine a path, or to probe what was examined. */
export type Question = { readonly path: string } | { readonly probe: Probed }

/** The arguments of {@link beginProbe}. */
type Probed = readonly [path: string, mount: Mount, isDirectory: boolean]

/**
 * Examines paths. Where there are mounts whose server may stop, by a process of their own: a thread that waits for a virtiofsd is beyond
 * SIGKILL, and a process that has one does not end, nor let go of its stdout.
 */
export class Examiner implements Disposable {
  #child: ChildProcess | undefined

  async examine(path: string): Promise<Answer> {
    if (this.#child === undefined && !mayAnyHang()) return await answer(path)
    this.#child ??= start()
    try {
      return await ask<Answer>(this.#child, { path })
    } catch (how) {
      // The next path gets another.
      this.#child = undefined
      return { message: `the process that asks about ${printable(path)} has ended: ${how}` }
    }
  }

  /** By a process that nobody kills: what it has made where a server has stopped meanwhile, it removes when that goes on. */
  async probe({ route }: Examination): Promise<Probe> {
    const probed: Probed = [route.realPath, route.mount, route.seen.kind === 'directory']
    if (!mayAnyHang()) return await beginProbe(...probed).answer
    const child = start()
    const notPossible = (why: string): Probe => ({ result: 'not possible', directory: route.realPath, why })
    const over = new AbortController()
    // The process has a deadline itself, but may be held before it comes to that.
    const late = sleep(PROBE_PATIENCE_MS, undefined, { signal: over.signal }).then(() =>
      notPossible(`the mount of ${route.realPath} has stopped answering`),
    )
    late.catch(() => {})
    try {
      return await Promise.race([ask<Probe>(child, { probe: probed }), late])
    } catch (how) {
      return notPossible(`the process that was to make a scratch file has ended: ${how}`)
    } finally {
      over.abort()
      letGo(child)
    }
  }

  /** The process is left to its fate: it ends when it can. */
  [Symbol.dispose](): void {
    if (this.#child === undefined) return
    letGo(this.#child)
    this.#child.kill('SIGKILL')
  }
}

function start(): ChildProcess {
  return fork(join(import.meta.dirname, 'examiner_child.js'), {
    // With what is in an examination that JSON has not.
    serialization: 'advanced',
    // None of ours: it would keep a pipe open for as long as it cannot end.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
}

/** Rejects with why it has ended, if it does. */
function ask<A>(child: ChildProcess, question: Question): Promise<A> {
  return new Promise((resolve, reject) => {
    child.removeAllListeners()
    child.once('message', (message) => resolve(message as A))
    child.once('error', (error) => reject(devNullMissing() ?? error.message))
    child.once('exit', (code, signal) => reject(signal ?? code))
    // Without a descriptor left for it there is no channel.
    child.send?.(question, (error) => {
      if (error !== null) reject(error.message)
    })
  })
}

function letGo(child: ChildProcess): void {
  child.removeAllListeners()
  child.on('error', () => {})
  if (child.connected) child.disconnect()
  child.unref()
}

/** The answer by this process. */
export async function answer(path: string): Promise<Answer> {
  try {
    return { examination: await examineHere(path) }
  } catch (error) {
    const message = messageOf(error)
    const fields = fieldsOf(error)
    if (!(error instanceof UnansweredError)) return { message, fields }
    const { code, hint, mount } = error
    return { message, fields, unanswered: { path, code, hint, mount } }
  }
}

function mayAnyHang(): boolean {
  try {
    return parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).some(mayHang)
  } catch {
    return true
  }
}
