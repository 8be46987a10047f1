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

/** The outcome of a question. An error is told as words, since it may come from another process. */
export type Answer =
  | { readonly examination: Examination }
  | { readonly message: string; readonly fields?: object; readonly unanswered?: Unanswered | undefined }

/** A mount that does not answer, as the mount table has it. */
export interface Unanswered {
  readonly path: string
  readonly code: string
  readonly hint: string
  readonly mount: Mount | undefined
}

/** The wait for a probe, in ms: longer than a probe takes where nothing holds it. */
const PROBE_PATIENCE_MS = 5000

/** A question to the child process: examine a path, or probe what was examined. */
export type Question = { readonly path: string } | { readonly probe: Probed }

/** The arguments of {@link beginProbe}. */
type Probed = readonly [path: string, mount: Mount, isDirectory: boolean]

/**
 * Examines paths. If there are mounts whose server may stop, by a child process: a thread that waits for a virtiofsd is beyond SIGKILL,
 * and a process that has such a thread does not end, nor let go of its stdout.
 */
export class Examiner implements Disposable {
  #child: ChildProcess | undefined

  async examine(path: string): Promise<Answer> {
    if (this.#child === undefined && !mayAnyHang()) return await answer(path)
    this.#child ??= start()
    try {
      return await ask<Answer>(this.#child, { path })
    } catch (how) {
      // The next path gets another child.
      this.#child = undefined
      return { message: `the process that asks about ${printable(path)} has ended: ${how}` }
    }
  }

  /** Probes by a child that nobody kills. If a server stops meanwhile, the child removes its scratch file when the server goes on. */
  async probe({ route }: Examination): Promise<Probe> {
    const probed: Probed = [route.realPath, route.mount, route.seen.kind === 'directory']
    if (!mayAnyHang()) return await beginProbe(...probed).answer
    const child = start()
    const notPossible = (why: string): Probe => ({ result: 'not possible', directory: route.realPath, why })
    const over = new AbortController()
    // The child has a deadline itself, but may be held before it comes to that.
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

  /** Leaves the child to itself: it ends when it can. */
  [Symbol.dispose](): void {
    if (this.#child === undefined) return
    letGo(this.#child)
    this.#child.kill('SIGKILL')
  }
}

function start(): ChildProcess {
  return fork(join(import.meta.dirname, 'examiner_child.js'), {
    // Unlike JSON, 'advanced' can carry all values of an examination.
    serialization: 'advanced',
    // The child gets none of our streams: it would keep a pipe open for as long as it cannot end.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
}

/** Rejects with the reason if the child ends first. */
function ask<A>(child: ChildProcess, question: Question): Promise<A> {
  return new Promise((resolve, reject) => {
    child.removeAllListeners()
    child.once('message', (message) => resolve(message as A))
    child.once('error', (error) => reject(devNullMissing() ?? error.message))
    child.once('exit', (code, signal) => reject(signal ?? code))
    // A child that got no descriptor for it has no channel.
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

/** Answers in this process. */
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
