import { constants } from 'node:fs'
import { except } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle, HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'

/** The bytes that are copied to the thread at once. */
const CHUNK = 4 * 1024 * 1024

/** fsync(2), EINVAL: the file system has nothing that it could write out. */
const HAS_NONE = ['EINVAL', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS']

export async function writeAll({ calls, fd }: HeldFile, data: Buffer): Promise<void> {
  for (let at = 0; at < data.length; at += CHUNK) await calls.write(fd, data.subarray(at, at + CHUNK))
}

/** Returns when what has been written will outlast a power failure. */
export async function syncFile(calls: SyscallThread, fd: number): Promise<void> {
  await calls.sync(fd).catch(except(...HAS_NONE))
}

/** Syncs a directory's names likewise. A directory that may not be read cannot be opened for fsync(2): its names are as durable as its mount makes them. */
export async function syncDirectory(directory: DirectoryHandle): Promise<void> {
  const { calls } = directory
  const fd = await openToRead(directory).catch(except('EACCES'))
  if (fd === undefined) return
  await syncFile(calls, fd)
  await calls.close(fd)
}

/** Opens a descriptor for fsync(2) and flock(2), which take none of O_PATH. */
export async function openToRead({ calls, fd }: DirectoryHandle): Promise<number> {
  const opened = await calls.openBeneath({ fd, name: '.' }, constants.O_RDONLY | constants.O_DIRECTORY)
  return opened.fd
}
