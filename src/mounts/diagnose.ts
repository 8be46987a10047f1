import type { Diagnosis } from './diagnosis/diagnosis.ts'

/**
 * Says what an existing path can and cannot deliver and why. Reads only; writes no probe.
 *
 * Rejects with an InotifyError (code, errno, syscall 'statx', path, hint) if the path cannot be reached: ETIMEDOUT where a mount on
 * the way has not answered for 4 s.
 */
export async function diagnose(path: string): Promise<Diagnosis> {
  // Most of it is texts, which few of those need who import the package.
  const { examineHere } = await import('./diagnosis/examine.ts')
  return (await examineHere(path)).diagnosis
}
