import { except, succeeds } from '../mounts/syscalls/call_error.ts'
import type { HeldFile } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import { AT_REMOVEDIR } from '../mounts/syscalls/syscall_thread.ts'
import { checkVersion, openVersion, sameKey, Torn } from '../volume/read_file.ts'
import { syncDirectory, syncFile } from './draft/durable.ts'
import { hasOwner, keepOwner } from './draft/owner.ts'
import { openPlace, type Place, refuseMountPoint } from './draft/place.ts'
import { withTemporary } from './draft/temporary.ts'
import { about, failure, withCalls } from './failure.ts'

/** The most copies of a source that changes while it is copied. */
const ATTEMPTS = 5

/** The bytes that are copied at once. */
const CHUNK = 1024 * 1024

/** moveFile() (publish.ts). */
export async function moveBetween(from: string, to: string): Promise<{ crossedMounts: boolean }> {
  return await withCalls(to, async (calls) => {
    await using here = await openPlace(calls, from)
    await using there = await openPlace(calls, to)
    return { crossedMounts: await move(here, there) }
  })
}

async function move(from: Place, to: Place): Promise<boolean> {
  const stat = await sourceStat(from)
  const old = await to.lstat()
  if (old?.isDirectory() === true)
    throw failure('EISDIR', 'rename', to.shown, 'it is a directory: name the file in it')
  if (await isSameEntry(from, to)) return false
  refuseMountPoint(from, stat)
  refuseMountPoint(to, old)
  if (stat.isFile()) await syncContent(from)
  // rename(2) of one link to another of the same file does nothing, and leaves both.
  const isOtherLink = old !== undefined && old.dev === stat.dev && old.ino === stat.ino && stat.nlink > 1n
  if (isOtherLink) await about(from.shown, from.directory.calls.unlink(from.directory.at(from.name)))
  else if (!(await renameOnMount(from, to))) {
    const version = await copyStable(from, to)
    await about(to.shown, syncDirectory(to.directory))
    await removeSource(from, version)
    return true
  }
  await about(to.shown, syncDirectory(to.directory))
  await about(from.shown, syncDirectory(from.directory))
  return false
}

/** Returns false if the two are on two mounts. */
async function renameOnMount(from: Place, to: Place): Promise<boolean> {
  const renaming = from.directory.calls.rename(from.directory.at(from.name), to.directory.at(to.name))
  return await succeeds(renaming, 'EXDEV')
}

/** Copies the source and returns the version that was copied. */
async function copyStable(from: Place, to: Place): Promise<FileStat> {
  for (let attempt = 1; ; attempt++) {
    const version = await sourceStat(from)
    await requireRemovable(from)
    try {
      await (version.isSymbolicLink() ? copyLink(from, to, version) : copyFile(from, to, version))
      return version
    } catch (error) {
      if (!(error instanceof Torn)) throw error
      const hint = 'somebody writes to it: it changed each time that it was copied'
      if (attempt === ATTEMPTS) throw failure('EBUSY', 'read', from.shown, hint)
    }
  }
}

/** Copies a regular file beside its destination and renames it there. Throws {@link Torn} unless it is `version` throughout. */
async function copyFile(from: Place, to: Place, version: FileStat): Promise<void> {
  await withTemporary(to.directory, version.uid, async (temporary) => {
    const { file: copy } = temporary
    await using source = await about(from.shown, openVersion(from.directory, from.name, version))
    const { calls } = source
    // Before the read, which is an access; and before any write, since this call is what may fail.
    await calls.copyTimes(source.fd, copy.fd)
    await keepOwner(copy, version, to.shown)
    for (let copied = 0n; ; ) {
      const chunk = await about(from.shown, calls.read(source.fd, CHUNK))
      if (chunk.length === 0) break
      copied += BigInt(chunk.length)
      // A writer that goes on appending would make the copy endless.
      if (copied > version.size) throw new Torn('it has grown')
      await calls.write(copy.fd, chunk)
    }
    // Behind chown(2), which clears the set-id bits, as write(2) does. A copy gives no user the rights of another.
    await calls.chmod(copy.fd, Number(version.mode & 0o1777n))
    await calls.copyTimes(source.fd, copy.fd, true)
    await syncFile(calls, copy.fd)
    await checkSource(from, source, version)
    await temporary.renameTo(to.name)
  })
}

/** Copies a symlink likewise: its text, byte by byte. */
async function copyLink(from: Place, to: Place, version: FileStat): Promise<void> {
  await withTemporary(to.directory, version.uid, async (temporary) => {
    await using source = await about(from.shown, from.directory.hold(from.name))
    checkVersion(source.opened, version)
    const text = await about(from.shown, source.calls.readlinkBytes({ fd: source.fd, name: '' }))
    await using link = await temporary.makeLink(text)
    // If the entry is not the link made here, it may be anybody's file.
    if (!hasOwner(link, version) && !(await temporary.isOurs(link, text))) {
      const hint =
        'its owner could not be kept: the symlink that was made for it is not provably that one any more, or the mount decides on owners and modes'
      throw failure('EPERM', 'chown', to.shown, hint)
    }
    await keepOwner(link, version, to.shown)
    await checkSource(from, undefined, version)
    await temporary.renameLinkTo(to.name)
  })
}

/** Checks both: the name may lead to another file by now, and the file that was read may have been written to. */
async function checkSource(from: Place, read: HeldFile | undefined, version: FileStat): Promise<void> {
  checkVersion(await about(from.shown, from.directory.lstat(from.name)), version)
  if (read !== undefined) checkVersion(await about(from.shown, read.stat()), version)
}

async function sourceStat(from: Place): Promise<FileStat> {
  const stat = await about(from.shown, from.directory.lstat(from.name), 'there is no such file')
  if (stat.isDirectory())
    throw failure('EISDIR', 'rename', from.shown, 'a directory is not moved: mv(1) renames it on its mount')
  if (!stat.isFile() && !stat.isSymbolicLink())
    throw failure('EINVAL', 'rename', from.shown, 'a FIFO, socket or device is not moved')
  return stat
}

/** Returns true if both are one name in one directory, perhaps seen over two mounts: to remove the source would remove the file. */
async function isSameEntry(from: Place, to: Place): Promise<boolean> {
  if (!Buffer.from(from.name).equals(Buffer.from(to.name))) return false
  const [one, other] = [from.directory.opened, to.directory.opened]
  return one.dev === other.dev && one.ino === other.ino
}

/** Syncs the content, so that the renamed file is there in full after a power failure. A file that we may not read stays as durable as it was. */
async function syncContent({ directory, name, shown }: Place): Promise<void> {
  const file = await directory.file(name.toString()).catch(() => undefined)
  if (file === undefined) return
  await using held = file
  await about(shown, syncFile(held.calls, held.fd))
}

/**
 * Throws if the source could not be removed, before anything is published. rmdir(2) of a file does all checks of unlink(2) (read-only
 * mount, permission, sticky, immutable), and fails with ENOTDIR last.
 */
async function requireRemovable({ directory, name, shown }: Place): Promise<void> {
  const asked = directory.calls.unlink(directory.at(name), AT_REMOVEDIR)
  await about(shown, asked, 'it could not be removed when it has been copied').catch(except('ENOTDIR'))
}

async function removeSource(source: Place, version: FileStat): Promise<void> {
  const { directory, name, shown } = source
  const now = await source.lstat()
  // Another process has removed the source first.
  if (now === undefined) return
  const changed = 'it changed after it was copied: the copy is what it was, and it stays'
  if (!sameKey(now, version)) throw failure('EBUSY', 'unlink', shown, changed)
  const removed = directory.calls.unlink(directory.at(name))
  await about(shown, removed, 'it has been copied, and could not be removed: both are there')
  await about(shown, syncDirectory(directory))
}
