import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { InotifyError } from '../../errors.ts'
import { IN_CREATE, IN_MOVED_TO } from '../../inotify/constants.ts'
import { Inotify } from '../../inotify/inotify.ts'
import type { Mount } from '../mountinfo.ts'
import { requireProc } from '../proc.ts'
import { CallError } from '../syscalls/call_error.ts'
import { type At, O_PATH, SyscallThread } from '../syscalls/syscall_thread.ts'

/** The outcome of a test: does a change made here come as an event? */
export interface Probe {
  readonly result: 'proved' | 'no event came' | 'not possible'
  /** The directory of the scratch file. */
  readonly directory: string
  readonly why: string
}

/** The scratch file's prefix, which consumers of the directory may see. Most leave out dotfiles, and the name tells who made it. */
export const SCRATCH = '.inotify-bridge-probe-'

/** The wait for an event, in ms. */
const WAIT_MS = 1500

/** An attempt to see a change that is made here. */
export interface Probing {
  /** Settles within twice the wait for an event. */
  readonly answer: Promise<Probe>
  /** Settles when no scratch file is left. If the mount has stopped answering, that is not before it answers again. */
  readonly over: Promise<void>
}

/**
 * Makes a scratch file in a directory, or beside a file, renames and removes it, and waits for the events. It has been removed before
 * they are waited for: no file stays, unless this process ends while the mount does not answer.
 */
export function beginProbe(path: string, mount: Mount, isDirectory: boolean): Probing {
  const directory = isDirectory ? path : dirname(path)
  if (!isDirectory && mount.point === path) {
    const why = `${path} is a mount of its own, so a file beside it would prove nothing about it`
    return {
      answer: Promise.resolve({ result: 'not possible', directory, why }),
      over: Promise.resolve(),
    }
  }
  const calls = new SyscallThread()
  const attempted = attempt(calls, directory).finally(() => calls.end())
  const over = attempted.then(
    () => {},
    () => {},
  )
  const why = `the mount of ${directory} has stopped answering`
  // The attempt keeps the process, and no timer need.
  const late = sleep<Probe>(2 * WAIT_MS, { result: 'not possible', directory, why }, { ref: false })
  return { answer: Promise.race([attempted, late]), over }
}

async function attempt(calls: SyscallThread, directory: string): Promise<Probe> {
  try {
    const { fd } = await calls.open(directory, O_PATH | constants.O_DIRECTORY)
    using inotify = new Inotify()
    requireProc()
    // Watches by the descriptor, so that the watch is on the very directory in which the file is made.
    inotify.add(`/proc/self/fd/${fd}`, IN_CREATE | IN_MOVED_TO)
    const name = `${SCRATCH}${process.pid}-${randomBytes(4).toString('hex')}`
    const heard = hear(inotify, `${name}.moved`)
    await scratch(calls, { fd, name })
    const has = await heard
    const why = has
      ? `a file made and renamed in ${directory} came as IN_MOVED_TO`
      : `a file made and renamed in ${directory} made no event within ${WAIT_MS / 1000} s`
    return { result: has ? 'proved' : 'no event came', directory, why }
  } catch (error) {
    if (error instanceof CallError) {
      const why = `no scratch file can be made in ${directory}: ${error.message}`
      return { result: 'not possible', directory, why }
    }
    if (error instanceof InotifyError)
      return { result: 'not possible', directory, why: `no watch is to be had: ${error.message}` }
    throw error
  }
}

/** Asks all three of the thread at once: the thread completes them by itself when this one is stopped or at its end. */
async function scratch(calls: SyscallThread, made: At): Promise<void> {
  const moved: At = { fd: made.fd, name: `${made.name}.moved` }
  const asked = [calls.create(made, 0o600), calls.rename(made, moved), calls.unlink(moved)]
  const [creation, ...rest] = await Promise.allSettled(asked)
  if (creation?.status === 'rejected') throw creation.reason
  const failed = rest.find(({ status }) => status === 'rejected')
  if (failed?.status !== 'rejected') return
  // The file may be there by either name.
  await Promise.allSettled([calls.unlink(made), calls.unlink(moved)])
  throw failed.reason
}

async function hear(inotify: Inotify, name: string): Promise<boolean> {
  const timer = setTimeout(() => inotify.close(), WAIT_MS)
  try {
    for await (const batch of inotify) {
      for (const event of batch) if (event.name === name && event.mask & IN_MOVED_TO) return true
    }
    return false
  } finally {
    clearTimeout(timer)
  }
}
