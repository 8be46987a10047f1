import { codeOf } from '../mounts/call_error.ts'
import { O_PATH } from '../mounts/calls.ts'
import type { FileStat } from '../mounts/file_stat.ts'
import { HeldFile } from '../mounts/held.ts'
import { syncFile } from './durable.ts'
import { about } from './failure.ts'
import { keepOwner } from './owner.ts'
import type { Place } from './place.ts'
import { withTemporary } from './temporary.ts'

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
  await withTemporary(to.directory, async (temporary) => {
    const { file: copy } = temporary
    await using source = await about(from.shown, openVersion(from, version))
    const { calls } = source
    // Before it is read, which is an access; and before anything is written, since it is what may fail.
    await calls.copyTimes(source.fd, copy.fd)
    await keepOwner(copy, version, to.shown)
    for (;;) {
      const chunk = await about(from.shown, calls.read(source.fd, CHUNK))
      if (chunk.length === 0) break
      await calls.write(copy.fd, chunk)
    }
    // Behind chown(2) and write(2), which clear the set-id bits. With the owner these give no right that the source did not.
    await calls.chmod(copy.fd, Number(version.mode & 0o7777n))
    await calls.copyTimes(source.fd, copy.fd, true)
    await syncFile(calls, copy.fd)
    await checkVersion(from, source, version)
    await temporary.renameTo(to.name)
  })
}

/** The same with a symlink: what it says is copied, byte by byte. */
export async function copyLink(from: Place, to: Place, version: FileStat): Promise<void> {
  await withTemporary(to.directory, async (temporary) => {
    const { calls } = to.directory
    const text = await about(from.shown, readLink(from))
    const name = await temporary.makeLink(text)
    const { fd, stat } = await calls.openBeneath(to.directory.at(name), O_PATH)
    await using link = new HeldFile(calls, { fd, stat })
    await keepOwner(link, version, to.shown)
    await checkVersion(from, undefined, version)
    await temporary.renameLinkTo(to.name)
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

async function readLink({ directory, name }: Place): Promise<Buffer> {
  try {
    return await directory.calls.readlinkBytes(directory.at(name))
  } catch (error) {
    // readlink(2): it is no symlink any more.
    throw codeOf(error) === 'EINVAL' ? new Changed('it is no symlink') : error
  }
}

/** Both: the name may lead to another file by now, and the one that was read may have been written to. */
async function checkVersion(from: Place, read: HeldFile | undefined, version: FileStat): Promise<void> {
  const now = await about(from.shown, from.directory.lstat(from.name))
  if (!isVersion(now, version)) throw new Changed('it is another version')
  if (read !== undefined && !isVersion(await about(from.shown, read.stat()), version))
    throw new Changed('it was written to')
}
