import { addonOrError } from '../addon.ts'
import { AddonLoadError, describeErrno, InotifyError } from '../errors.ts'

let known: { refusal: InotifyError | undefined } | undefined

/**
 * Returns the error by which this process can have no watch at all; undefined if nobody refuses. Asks
 * once, since no seccomp filter is ever taken back (seccomp(2)).
 */
export function inotifyRefusal(): InotifyError | undefined {
  known ??= { refusal: ask() }
  return known.refusal
}

function ask(): InotifyError | undefined {
  const addon = addonOrError()
  const answer = addon instanceof AddonLoadError ? 0 : addon.refusal()
  if (answer === 0) return undefined
  const syscall = answer < 0 ? 'inotify_init1' : 'inotify_add_watch'
  const errno = Math.abs(answer)
  const by = `(${describeErrno(errno)[0]}), by a seccomp filter, a sandbox or an emulator`
  const hint = `${syscall}(2) is refused to this process ${by}: only a poll tells of changes here`
  return new InotifyError({ errno, syscall, hint })
}
