import { resolve } from 'node:path'
import { loadPart } from '../load_part.ts'
import type { Diagnosis } from './diagnosis/diagnosis.ts'

/**
 * Says what an existing path can and cannot deliver and why. Reads only; writes no probe.
 *
 * Rejects with an InotifyError (code, errno, syscall 'statx', path, hint) if the path cannot be reached: ETIMEDOUT where a mount on
 * the way has not answered for 4 s.
 */
export async function diagnose(path: string): Promise<Diagnosis> {
  // Before anything is awaited: the working directory may be another then.
  const absolute = path === '' ? path : resolve(path)
  const { examineHere } = await loadPart(() => import('./diagnosis/examine.ts'))
  const { diagnosis } = await examineHere(absolute)
  return { ...diagnosis, path }
}
