import { CallError, codeOf } from '../../mounts/syscalls/call_error.ts'
import type { HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { withoutGroup } from '../../mounts/syscalls/ownership.ts'
import { failure } from '../failure.ts'

/**
 * Returns the mode of a copy. The original's bits are not meant for another group, which the copy may get from its directory or its maker:
 * such a group gets no more rights than everybody.
 */
export function modeOfCopy(mode: number, group: bigint | undefined, copy: FileStat): number {
  return group === undefined || group === copy.gid ? mode : withoutGroup(mode)
}

export function hasOwner({ opened }: HeldFile, { uid, gid }: FileStat): boolean {
  return opened.uid === uid && opened.gid === gid
}

/** Gives a new file the owner and group of another, if they differ. */
export async function keepOwner(file: HeldFile, old: FileStat, shown: string): Promise<void> {
  if (hasOwner(file, old)) return
  const { uid, gid } = old
  try {
    await file.calls.chown(file.fd, Number(uid), Number(gid))
  } catch (error) {
    // EPERM without CAP_CHOWN, EINVAL for an id that this user namespace does not know.
    if (!(error instanceof CallError) || !['EPERM', 'EINVAL'].includes(codeOf(error))) throw error
    const hint = `its owner ${uid}:${gid} could not be kept: run as that user or with CAP_CHOWN, or remove the file first`
    throw failure(-error.errno, 'chown', shown, hint)
  }
}
