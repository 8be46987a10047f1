import { basename } from 'node:path'
import { printable } from '../../errors.ts'
import { codeOf, except } from '../../mounts/syscalls/call_error.ts'
import { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { MAX_LINKS } from '../../mounts/syscalls/max_links.ts'
import { isLaidByAnother, isTrusted, mayOthersRename } from '../../mounts/syscalls/ownership.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { about, failure, MOUNTED_FILE } from '../failure.ts'

/** The magic number of procfs in statfs(2). */
const PROC_SUPER_MAGIC = 0x9fa0

/** The place of an entry, there or not: a name in a directory that is held open, and the path that people know. */
export class Place implements AsyncDisposable {
  readonly directory: DirectoryHandle
  /** The name; a Buffer for one that came from a symlink, if its bytes are not UTF-8. */
  readonly name: string | Buffer
  readonly shown: string

  constructor(directory: DirectoryHandle, name: string | Buffer, shown: string) {
    this.directory = directory
    this.name = name
    this.shown = shown
  }

  /** Stats the entry, a symlink itself; undefined if nothing is there. */
  lstat(): Promise<FileStat | undefined> {
    return lstatIfThere(this.directory, this.name)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.directory.close()
  }
}

/** Stats an entry; undefined if nothing is there, perhaps no more: other programs in the directory take no lock of ours. */
export async function lstatIfThere(
  directory: DirectoryHandle,
  name: string | Buffer,
): Promise<FileStat | undefined> {
  return await directory.lstat(name).catch(except('ENOENT'))
}

/** Opens the place of a path. A symlink at its end is not followed. */
export async function openPlace(calls: SyscallThread, path: string): Promise<Place> {
  return await about(path, open(calls, Buffer.from(path), '', path))
}

/** Opens the place of the file that a path leads to. If its last symlink dangles, the place that the link names. */
export async function followToPlace(calls: SyscallThread, path: string): Promise<Place> {
  return await follow(await openPlace(calls, path))
}

/** Follows a name in a directory that is held open likewise. */
export async function followIn(directory: DirectoryHandle, name: string, shown: string): Promise<Place> {
  return await follow(
    await about(shown, open(directory.calls, Buffer.from(name), `${directory.path}/`, shown)),
  )
}

/** Opens the place of the directory that a path leads to; undefined for a path without a name, which cannot be missing: '/', '.', 'a/..'. */
export async function followToDirectoryPlace(calls: SyscallThread, path: string): Promise<Place | undefined> {
  const bare = path.replace(/(?<=[^/])\/+$/, '')
  return ['', '.', '..'].includes(basename(bare)) ? undefined : await followToPlace(calls, bare)
}

/** Opens the directory that a path leads to, by the links that {@link followToPlace} follows. */
export async function followToDirectory(calls: SyscallThread, path: string): Promise<DirectoryHandle> {
  try {
    await using place = await followToDirectoryPlace(calls, path)
    return await about(path, place === undefined ? DirectoryHandle.open(calls, path) : openDirectory(place))
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    const hint = `there is no directory ${printable(path.replace(/(?<=[^/])\/+$/, ''))}: make it first`
    throw failure('ENOENT', 'open', path, hint)
  }
}

/** Opens the directory at a place. */
export async function openDirectory({ directory, name }: Place): Promise<DirectoryHandle> {
  await using held = await directory.directory(name)
  // The directory's file system may be another one than its parent's.
  return await DirectoryHandle.open(directory.calls, held.path)
}

async function follow(from: Place): Promise<Place> {
  const { calls } = from.directory
  let place = from
  for (let links = 0; ; links++) {
    const here = place
    const { shown } = here
    try {
      const to = await about(shown, readLink(here, links))
      if (to === undefined) return here
      place = await about(shown, open(calls, to, `${here.directory.path}/`, shown))
    } catch (error) {
      await here.directory.close()
      throw error
    }
    await here.directory.close()
  }
}

/** Reads the symlink at a place, if it may be followed; undefined if there is none. */
async function readLink(here: Place, followed: number): Promise<Buffer | undefined> {
  const { directory, name, shown } = here
  if ((await here.lstat())?.isSymbolicLink() !== true) return undefined
  if (followed === MAX_LINKS) throw failure('ELOOP', 'open', shown)
  await refuseOpenFile(here)
  // Held open, so that the judged link is the one that is read.
  await using link = await directory.hold(name)
  const hint =
    'a symlink that another user has laid in a directory where others may write is not followed: name what it leads to'
  if (isTheirs(link.opened, await directory.stat())) throw failure('EACCES', 'open', shown, hint)
  // readlink(2) says so of an entry that has been no symlink since.
  return await link.calls.readlinkBytes({ fd: link.fd, name: '' }).catch(except('ENOENT', 'EINVAL'))
}

/** Returns true if a link's text is up to a user who may write to its directory, but perhaps not to its target. */
function isTheirs(link: FileStat, directory: FileStat): boolean {
  return isLaidByAnother(link, directory) || (!isTrusted(link) && mayOthersRename(directory))
}

/** Refuses a link of procfs: its text is a description ('pipe:[7]', '/tmp/f (deleted)'), and no path: proc_pid_fd(5). */
async function refuseOpenFile({ directory, shown }: Place): Promise<void> {
  const hint = 'a link in /proc leads to what is open, not to a name: name the file'
  if ((await directory.calls.fileSystem(directory.fd)) === PROC_SUPER_MAGIC)
    throw failure('EINVAL', 'open', shown, hint)
}

/** Refuses a mount of a single file before anything is written: no rename can replace or move it. */
export function refuseMountPoint(place: Place, stat: FileStat | undefined): void {
  const beneath = place.directory.opened.mount
  if (stat !== undefined && stat.mount !== beneath && stat.mount !== 0n && beneath !== 0n)
    throw failure('EBUSY', 'rename', place.shown, MOUNTED_FILE)
}

async function open(calls: SyscallThread, path: Buffer, base: string, shown: string): Promise<Place> {
  const end = path.lastIndexOf('/') + 1
  const name = path.subarray(end)
  const whole = path[0] === 0x2f ? path : Buffer.concat([Buffer.from(base), path])
  if (['', '.', '..'].includes(name.toString('latin1'))) {
    // Throws ENOENT if there is no such directory.
    await using _ = await DirectoryHandle.open(calls, whole)
    throw failure('EISDIR', 'open', shown, 'the path ends like one of a directory: name the file in it')
  }
  const parent = whole.subarray(0, whole.length - name.length)
  const directory = await DirectoryHandle.open(calls, parent.length === 0 ? '.' : parent)
  const text = name.toString()
  return new Place(directory, Buffer.from(text).equals(name) ? text : name, shown)
}
