import { CallError, codeOf } from '../mounts/call_error.ts'
import type { FileStat } from '../mounts/file_stat.ts'
import type { HeldFile } from '../mounts/held.ts'
import { failure } from './failure.ts'

/** Gives a new file the owner and group of another, if they differ. */
export async function keepOwner(file: HeldFile, { uid, gid }: FileStat, shown: string): Promise<void> {
  if (file.opened.uid === uid && file.opened.gid === gid) return
  try {
    await file.calls.chown(file.fd, Number(uid), Number(gid))
  } catch (error) {
    // EPERM without CAP_CHOWN, EINVAL for an id that this user namespace does not know.
    if (!(error instanceof CallError) || !['EPERM', 'EINVAL'].includes(codeOf(error))) throw error
    const hint = `its owner ${uid}:${gid} could not be kept: run as that user or with CAP_CHOWN, or remove the file first`
    throw failure(-error.errno, 'chown', shown, hint)
  }
}
