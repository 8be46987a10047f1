import type { HeldFile } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import { checkVersion, openVersion } from '../volume/read_file.ts'
import { Torn } from '../volume/torn.ts'
import { syncFile } from './draft/durable.ts'
import { hasOwner, keepOwner, notProven } from './draft/owner.ts'
import type { Place } from './draft/place.ts'
import { withTemporary } from './draft/temporary.ts'
import { about } from './failure.ts'

const CHUNK = 1024 * 1024

/** Copies a regular file beside its destination and renames it there. Throws {@link Torn} unless it is `version` throughout. */
export async function copyFile(from: Place, to: Place, version: FileStat): Promise<void> {
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
export async function copyLink(from: Place, to: Place, version: FileStat): Promise<void> {
  await withTemporary(to.directory, version.uid, async (temporary) => {
    await using source = await about(from.shown, from.directory.hold(from.name))
    checkVersion(source.opened, version)
    const text = await about(from.shown, source.calls.readlinkBytes({ fd: source.fd, name: '' }))
    await using link = await temporary.makeLink(text)
    // If the entry is not the link made here, it may be anybody's file.
    if (!hasOwner(link, version) && !(await temporary.isOurs(link, text))) throw notProven(to.shown)
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
