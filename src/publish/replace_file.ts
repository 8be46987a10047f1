import { codeOf } from '../mounts/syscalls/call_error.ts'
import type { DirectoryHandle, HeldFile } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import { isLaidByAnother } from '../mounts/syscalls/ownership.ts'
import { syncDirectory, syncFile, writeAll } from './draft/durable.ts'
import { keepOwner, modeOfCopy } from './draft/owner.ts'
import { followIn, followToPlace, type Place, refuseMountPoint } from './draft/place.ts'
import { withTemporary } from './draft/temporary.ts'
import { about, failure, withCalls } from './failure.ts'

/** The content and rights of a replacement. */
export interface Replacement {
  readonly data: Buffer
  /** The mode instead of the file's own. */
  readonly mode: number | undefined
  /** The mode of a new file, unless `mode` is given. */
  readonly newMode: number
  /** The group for which the bits of `newMode` are meant, if they come from another file. */
  readonly newGroup?: bigint | undefined
  /** True: the file is to be the caller's, whoever has the one that it replaces. */
  readonly isOwn?: true
}

/** replaceFile() (publish.ts), with a mode for a new file. */
export async function replaceFileAs(path: string, replacement: Replacement): Promise<void> {
  await withCalls(path, async (calls) => {
    await using place = await followToPlace(calls, path)
    await replaceAt(place, replacement)
  })
}

/** Replaces a file by its name in a directory that is held open. */
export async function replaceFileIn(
  directory: DirectoryHandle,
  name: string,
  shown: string,
  replacement: Replacement,
): Promise<void> {
  await using place = await followIn(directory, name, shown)
  await about(shown, replaceAt(place, replacement))
}

/** Replaces the file at a place, where a symlink would be replaced. */
export async function replaceAt(place: Place, replacement: Replacement): Promise<void> {
  const { directory, name, shown } = place
  const there = await place.lstat()
  refuseUnlessFile(place, there)
  // A symlink that is to be replaced has nothing to keep.
  const old = there?.isFile() === true ? there : undefined
  const kept = replacement.isOwn ? undefined : old
  if (kept !== undefined) await refuseOthersFile(place, kept)
  await withTemporary(directory, kept?.uid, async (temporary) => {
    const { file } = temporary
    // First, as chown(2) is what fails. It clears the set-id bits, so the mode comes behind it.
    if (kept !== undefined) await keepOwner(file, kept, shown)
    await writeAll(file, replacement.data)
    await setMode(file, replacement, old)
    await syncFile(file.calls, file.fd)
    await temporary.renameTo(name)
  })
  await about(shown, syncDirectory(directory))
}

function refuseUnlessFile(place: Place, old: FileStat | undefined): void {
  if (old?.isDirectory() === true)
    throw failure('EISDIR', 'rename', place.shown, 'it is a directory: name the file in it')
  const hint = 'a FIFO, socket or device is not replaced: remove it first'
  if (old !== undefined && !old.isFile() && !old.isSymbolicLink())
    throw failure('EINVAL', 'rename', place.shown, hint)
  refuseMountPoint(place, old)
}

/** Refuses a file that another user has laid (proc(5), protected_regular): that user may wait for the new content, and would own it. */
async function refuseOthersFile({ directory, shown }: Place, old: FileStat): Promise<void> {
  const hint =
    "a file that another user has laid in a sticky directory would stay that user's: remove it first"
  if (isLaidByAnother(old, await directory.stat())) throw failure('EACCES', 'open', shown, hint)
}

async function setMode(
  file: HeldFile,
  { mode, newMode, newGroup }: Replacement,
  old: FileStat | undefined,
): Promise<void> {
  const kept = old === undefined ? undefined : Number(old.mode & 0o777n)
  try {
    await file.calls.chmod(file.fd, mode ?? kept ?? modeOfCopy(newMode, newGroup, file.opened))
  } catch (error) {
    // Ignores a default mode that the mount, which decides on modes, refuses: vfat, exfat, cifs.
    const isAsked = mode !== undefined || kept !== undefined
    if (isAsked || !['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS'].includes(codeOf(error))) throw error
  }
}
