import { resolve } from 'node:path'
import { refuseOtherPlatforms } from '../compiled.ts'
import { loadPart } from '../load_part.ts'
import type { Diagnosis } from './diagnosis/diagnosis.ts'

/**
 * Says whether an existing path delivers events, why not, and the line to change. Reads only; writes no probe. Servers are asked anew, whatever the kernel remembers.
 *
 * @throws InotifyError: (syscall 'statx') the path cannot be reached: ENOENT, EACCES, ENOTDIR, ELOOP, ENAMETOOLONG, ESTALE, ENOTCONN; the hint names the component. ETIMEDOUT: a mount on
 *   the way has not answered for 4 s; the hint names it. A thread of its own waits, and is left behind
 * @throws AddonLoadError: the platform is not Linux
 *
 * @example
 * ```js
 * import { diagnose } from 'inotify-bridge'
 *
 * const { mount, local, remote, backend, reasons, limits } = await diagnose('/proc')
 * console.log(mount.type, local, remote, backend) // proc lost silent poll
 * console.log(reasons, limits.maxUserWatches)
 * ```
 */
export async function diagnose(path: string): Promise<Diagnosis> {
  refuseOtherPlatforms('addon')
  // Before anything is awaited: the working directory may be another then.
  const absolute = path === '' ? path : resolve(path)
  const { examineHere } = await loadPart(() => import('./diagnosis/examine.ts'))
  const { diagnosis } = await examineHere(absolute)
  return { ...diagnosis, path }
}
