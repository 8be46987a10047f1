import { fork } from 'node:child_process'
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
import { ours } from '../shared/reaper.ts'

/** The outcome of a question. An error is told as words, since it may come from another process. */
export type Answer =
  | { readonly examination: Examination }
  | { readonly message: string; readonly fields?: object; readonly unanswered?: Unanswered | undefined }

/** A mount that does not answer, as the mount table has it. */
export type Unanswered = Pick<UnansweredError, 'code' | 'hint' | 'mount'> & { readonly path: string }

/** The wait for a probe, in ms: longer than a probe takes where nothing holds it. */
const PROBE_PATIENCE_MS = 5000

/** A question to the child process: examine a path, or probe what was examined. */
export type Question = { readonly path: string } | { readonly probe: Probed }

/** The arguments of {@link beginProbe}. */
type Probed = readonly [path: string, mount: Mount, isDirectory: boolean]

/**
 * Examines a path. If there are mounts whose server may stop, by a child process: a thread that waits for a virtiofsd is beyond SIGKILL,
 * and a process that has such a thread does not end, nor let go of its stdout.
 */
export async function examine(path: string): Promise<Answer> {
  if (!mayAnyHang()) return await answer(path)
  try {
    return await ask<Answer>({ path })
  } catch (how) {
    return { message: `the process that asks about ${printable(path)} has ended: ${how}` }
  }
}

/** Probes what was examined. If a server stops meanwhile, the child removes its scratch file when the server goes on. */
export async function probe({ route }: Examination): Promise<Probe> {
  const probed: Probed = [route.realPath, route.mount, route.seen.kind === 'directory']
  if (!mayAnyHang()) return await beginProbe(...probed).answer
  const notPossible = (why: string): Probe => ({ result: 'not possible', directory: route.realPath, why })
  // The child has a deadline itself, but may be held before it comes to that.
  const late = sleep(PROBE_PATIENCE_MS, undefined, { ref: false }).then(() =>
    notPossible(`the mount of ${route.realPath} has stopped answering`),
  )
  try {
    return await Promise.race([ask<Probe>({ probe: probed }), late])
  } catch (how) {
    return notPossible(`the process that was to make a scratch file has ended: ${how}`)
  }
}

/** Asks a child, which ends when it can. Rejects with the reason if it ends first. */
async function ask<A>(question: Question): Promise<A> {
  const child = fork(join(import.meta.dirname, 'examiner_child.js'), {
    // Unlike JSON, 'advanced' can carry all values of an examination.
    serialization: 'advanced',
    // The child gets none of our streams: it would keep a pipe open for as long as it cannot end.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  ours.add(child.pid ?? 0)
  try {
    return await new Promise((resolve, reject) => {
      child.once('message', (message) => resolve(message as A))
      child.once('error', (error) => reject(devNullMissing() ?? error.message))
      child.once('exit', (code, signal) => reject(signal ?? code))
      // A child that got no descriptor for it has no channel.
      child.send?.(question, (error) => {
        if (error !== null) reject(error.message)
      })
    })
  } finally {
    child.removeAllListeners()
    child.on('error', () => {})
    if (child.connected) child.disconnect()
    child.unref()
    // One that probes has a file to remove.
    if ('path' in question) child.kill('SIGKILL')
  }
}

/** Answers in this process. */
export async function answer(path: string): Promise<Answer> {
  try {
    return { examination: await examineHere(path) }
  } catch (error) {
    const told = { message: messageOf(error), fields: fieldsOf(error) }
    if (!(error instanceof UnansweredError)) return told
    const { code, hint, mount } = error
    return { ...told, unanswered: { path, code, hint, mount } }
  }
}

function mayAnyHang(): boolean {
  try {
    return parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).some(mayHang)
  } catch {
    return true
  }
}
