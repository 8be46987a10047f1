import { setTimeout as sleep } from 'node:timers/promises'
import { succeeds } from '../mounts/syscalls/call_error.ts'
import { DirectoryHandle } from '../mounts/syscalls/directory_handle.ts'
import { isLaidByAnother } from '../mounts/syscalls/ownership.ts'
import type { SyscallThread } from '../mounts/syscalls/syscall_thread.ts'
import { DATA, DATA_NEXT, linkText, PARTING } from '../volume/layout.ts'
import { inTurn, lockDirectory } from './directory/directory_lock.ts'
import { directoryMode, type Keys } from './directory/keys.ts'
import { type Layout, LINK_NEXT, readLayout } from './directory/layout.ts'
import { holdsKeys, removeVersion, VersionMark, writeVersion } from './directory/version.ts'
import { syncDirectory } from './draft/durable.ts'
import { followToDirectoryPlace, lstatIfThere, openDirectory, type Place } from './draft/place.ts'
import { about, failure, withCalls } from './failure.ts'

/** publishDirectory() (publish.ts), with a mode for each key. */
export async function publishKeys(path: string, keys: Keys): Promise<{ changed: boolean }> {
  return await inTurn(path, (until) =>
    withCalls(path, async (calls) => {
      await using held = await openOrMake(calls, path, directoryMode(keys))
      await lockDirectory(held, path, until)
      return { changed: await publish(held, keys, path) }
    }),
  )
}

/** Publishes the keys. One publisher enters at a time. */
async function publish(directory: DirectoryHandle, keys: Keys, shown: string): Promise<boolean> {
  const before = await readLayout(directory, shown)
  if (before === undefined)
    throw failure('EEXIST', 'rename', `${shown}/${DATA}`, 'it is no symlink: the directory has another use')
  refuseOthers(keys, before, shown)
  await refuseDirectories(directory, keys, before, shown)
  for (const name of before.next) await about(`${shown}/${name}`, directory.calls.unlink(directory.at(name)))
  const mark = new VersionMark(await directory.stat())
  // Makes room for the new version. If `..data` leads elsewhere or by a detour, any old version may be in use.
  if (before.current !== '' || !before.hasData) await removeVersions(directory, before, before.current, mark)

  const same = before.current !== '' && (await holdsKeys(directory, before.current, keys))
  const current = same ? before.current : await writeVersion(directory, keys, mark)
  if (!same) await swap(directory, current, mark)
  const linked = await updateLinks(directory, keys, before)
  if (same && !linked) return false
  // The old version must stay until the swap is known to last.
  await syncDirectory(directory)
  if (!same && before.hasData) await sleep(PARTING)
  await removeVersions(directory, before, current, mark)
  return true
}

/** Swaps `..data` by rename(2), at once: symlink(2) would need the name to be free. */
async function swap(directory: DirectoryHandle, version: string, mark: VersionMark): Promise<void> {
  const { calls } = directory
  try {
    await syncDirectory(directory)
    await calls.symlink(version, directory.at(DATA_NEXT))
    await renameNext(directory, DATA_NEXT, DATA)
  } catch (error) {
    await removeVersion(directory, version, mark).catch(() => {})
    throw error
  }
}

async function renameNext(directory: DirectoryHandle, next: string, name: string): Promise<void> {
  const { calls } = directory
  try {
    await calls.rename(directory.at(next), directory.at(name))
  } catch (error) {
    await calls.unlink(directory.at(next)).catch(() => {})
    throw error
  }
}

/** Makes missing links, then removes those of keys that are gone. Returns true if there was one. */
async function updateLinks(directory: DirectoryHandle, keys: Keys, { links }: Layout): Promise<boolean> {
  const { calls } = directory
  const missing = [...keys.entries.keys()].filter((name) => !links.has(name))
  const stale = [...links].filter((name) => !keys.entries.has(name))
  for (const name of missing) await makeLink(directory, name)
  for (const name of stale) await calls.unlink(directory.at(name))
  return missing.length + stale.length > 0
}

async function makeLink(directory: DirectoryHandle, name: string): Promise<void> {
  const { calls } = directory
  const making = calls.symlink(linkText(name), directory.at(name))
  if (await succeeds(making, 'EEXIST')) return
  // An old file, perhaps with the same content as the key: its readers find the file or the link.
  await calls.symlink(linkText(name), directory.at(LINK_NEXT))
  await renameNext(directory, LINK_NEXT, name)
}

async function removeVersions(
  directory: DirectoryHandle,
  { versions }: Layout,
  current: string,
  mark: VersionMark,
): Promise<void> {
  for (const name of versions) if (name !== current) await removeVersion(directory, name, mark)
}

/** Refuses names that another user has laid in a sticky directory, who could exchange them behind our back: proc(5), protected_symlinks. */
function refuseOthers(keys: Keys, { current, others }: Layout, shown: string): void {
  const hint =
    'another user has laid it in a sticky directory: remove it, or publish into a directory of your own'
  for (const name of [DATA, DATA_NEXT, LINK_NEXT, current, ...keys.entries.keys()])
    if (others.has(name)) throw failure('EACCES', 'rename', `${shown}/${name}`, hint)
}

async function refuseDirectories(
  directory: DirectoryHandle,
  keys: Keys,
  { links }: Layout,
  shown: string,
): Promise<void> {
  for (const name of keys.entries.keys()) {
    if (links.has(name)) continue
    if ((await lstatIfThere(directory, name))?.isDirectory() === true)
      throw failure('EISDIR', 'rename', `${shown}/${name}`, "a directory is in the way of the key's link")
  }
}

async function openOrMake(calls: SyscallThread, path: string, mode: number): Promise<DirectoryHandle> {
  await using place = await followToDirectoryPlace(calls, path)
  if (place === undefined) return await DirectoryHandle.open(calls, path)
  await makeDirectory(place, mode)
  const held = await openDirectory(place)
  if (!isLaidByAnother(held.opened, await place.directory.stat())) return held
  await held.close()
  const hint = 'another user has laid the directory in a sticky one: publish into a directory of your own'
  throw failure('EACCES', 'open', path, hint)
}

/** Makes a directory unless there is one; another publisher may have made it, too. */
async function makeDirectory({ directory, name }: Place, mode: number): Promise<void> {
  const { calls } = directory
  const mark = new VersionMark(await directory.stat())
  const making = calls.mkdir(directory.at(name), mark.isNeeded ? VersionMark.NEW_MODE : mode)
  if (!(await succeeds(making, 'EEXIST'))) return
  await using made = await directory.directory(name)
  // The readers have another umask. But where others may rename, a directory of another use may have got the name.
  if (await mark.isNew(made, directory))
    await calls.chmod(made.fd, mode | (Number(made.opened.mode) & 0o6000))
  await syncDirectory(directory)
}
