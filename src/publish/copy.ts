import { codeOf } from '../mounts/syscalls/call_error.ts'
import { HeldFile } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import { syncFile } from './draft/durable.ts'
import { hasOwner, keepOwner, notProven } from './draft/owner.ts'
import type { Place } from './draft/place.ts'
import { withTemporary } from './draft/temporary.ts'
import { withWorkDirectory } from './draft/work_directory.ts'
import { about } from './failure.ts'

const CHUNK = 1024 * 1024

/** The source is not what it was when the copy began: what was read may mix two versions. */
export class Changed extends Error {
  override readonly name = 'Changed'
}

/** Whether a file is the very inode, as it was. Nobody can set ctime, so a restored mtime does not deceive; reading does not change it. */
export function isVersion(now: FileStat, version: FileStat): boolean {
  return (
    now.dev === version.dev &&
    now.ino === version.ino &&
    now.mode === version.mode &&
    now.uid === version.uid &&
    now.gid === version.gid &&
    now.size === version.size &&
    now.mtimeNs === version.mtimeNs &&
    now.ctimeNs === version.ctimeNs
  )
}

/** Copies a regular file beside its destination and renames it there. Throws {@link Changed} unless it is `version` throughout. */
export async function copyFile(from: Place, to: Place, version: FileStat): Promise<void> {
  await withTemporary(to.directory, version.uid, async (temporary) => {
    const { file: copy } = temporary
    await using source = await about(from.shown, openVersion(from, version))
    const { calls } = source
    // Before it is read, which is an access; and before anything is written, since it is what may fail.
    await calls.copyTimes(source.fd, copy.fd)
    await keepOwner(copy, version, to.shown)
    for (let copied = 0n; ; ) {
      const chunk = await about(from.shown, calls.read(source.fd, CHUNK))
      if (chunk.length === 0) break
      copied += BigInt(chunk.length)
      // Somebody who goes on appending would have it go on for ever.
      if (copied > version.size) throw new Changed('it has grown')
      await calls.write(copy.fd, chunk)
    }
    // Behind chown(2), which clears the set-id bits, as write(2) does; and so they stay: a copy gives nobody else's rights to who runs it.
    await calls.chmod(copy.fd, Number(version.mode & 0o1777n))
    await calls.copyTimes(source.fd, copy.fd, true)
    await syncFile(calls, copy.fd)
    await checkVersion(from, source, version)
    await temporary.renameTo(to.name)
  })
}

/** The same with a symlink: what it says is copied, byte by byte. */
export async function copyLink(from: Place, to: Place, version: FileStat): Promise<void> {
  await withWorkDirectory(to.directory, async (work) => {
    await using source = await about(from.shown, from.directory.hold(from.name))
    if (!isVersion(source.opened, version)) throw new Changed('it is another version')
    const text = await about(from.shown, source.calls.readlinkBytes({ fd: source.fd, name: '' }))
    await using link = await work.makeLink(text)
    // What is not the link made here may be a file of anybody's.
    if (!hasOwner(link, version) && !(await work.isOurs(link, text))) throw notProven(to.shown)
    await keepOwner(link, version, to.shown)
    await checkVersion(from, undefined, version)
    await work.renameTo(to.name)
  })
}

async function openVersion({ directory, name }: Place, version: FileStat): Promise<HeldFile> {
  const { calls } = directory
  try {
    const file = new HeldFile(calls, await calls.openRegular(directory.at(name)))
    if (isVersion(file.opened, version)) return file
    await file[Symbol.asyncDispose]()
  } catch (error) {
    // It has become something else.
    if (codeOf(error) !== 'EPROTOTYPE') throw error
  }
  throw new Changed('it is another version')
}

/** Both: the name may lead to another file by now, and the one that was read may have been written to. */
async function checkVersion(from: Place, read: HeldFile | undefined, version: FileStat): Promise<void> {
  const now = await about(from.shown, from.directory.lstat(from.name))
  if (!isVersion(now, version)) throw new Changed('it is another version')
  if (read !== undefined && !isVersion(await about(from.shown, read.stat()), version))
    throw new Changed('it was written to')
}
