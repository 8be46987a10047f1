import { except } from '../../mounts/syscalls/call_error.ts'
import { atOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle, HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { openToLock, tryLock } from '../../mounts/syscalls/file_lock.ts'
import { isOwn } from '../../mounts/syscalls/ownership.ts'
import { removeTree } from '../../mounts/syscalls/remove_tree.ts'
import { AT_REMOVEDIR } from '../../mounts/syscalls/syscall_thread.ts'
import { failure } from '../../publish/failure.ts'
import { orAbsent } from '../source/errors.ts'
import { isNote, readStateFile, STAGING_NAME, STATE_FILES, type StagingState } from './own.ts'

/** The file that a running mirror has locked: nobody else can open it, and the kernel gives the lock back however the process ends. */
export const LOCK_FILE = 'lock'
/** The prefix of the directories in which a pass makes entries ready. */
export const WORK_PREFIX = 'work'
/** ms after which nobody is making a staging directory any more, where no lock tells. */
const UNBORN_FOR = 60_000

/** Names that are looked at, at most: of a target that others may write. */
const MOST_NAMES = 65_536

/** The staging directory of a mirror that has ended, held and locked until it is disposed of. */
export interface Leftover extends AsyncDisposable {
  readonly name: string
  readonly state: StagingState
  remove(): Promise<void>
}

/** Names of the staging directories of this user's in a target. */
export async function stagingsIn(target: DirectoryHandle): Promise<string[]> {
  const asked = (await target.names(MOST_NAMES)).map(String).filter((name) => STAGING_NAME.test(name))
  const own: string[] = []
  await atOnce(asked, async (name) => {
    // An entry that cannot be looked at, a neighbour's mount for one, is not this user's.
    const stat = await target.lstat(name).catch(() => undefined)
    if (stat?.isDirectory() && isOwn(stat)) own.push(name)
  })
  return own
}

/**
 * Opens the staging directory `name`, if it was left by a mirror of this user whose place is to be taken. undefined if not: then it is
 * not to be touched.
 *
 * @param only the one entry that is mirrored to, '' for the whole directory
 * @throws InotifyError EBUSY if its mirror is running
 */
export async function openLeftover(
  target: DirectoryHandle,
  name: string,
  only: string,
  shown: string,
): Promise<Leftover | undefined> {
  const held = await target.directory(name).catch(orAbsent)
  if (held === undefined) return undefined
  let lock: HeldFile | undefined
  const close = async () => {
    await lock?.[Symbol.asyncDispose]()
    await held.close()
  }
  try {
    const state = isOwn(held.opened) ? await readStateFile(held) : undefined
    lock = await openLock(held)
    const isAnother = state !== undefined && state.only !== '' && only !== '' && state.only !== only
    // Without both it is no staging directory, whatever it is called; moved here from another target, it speaks of that one.
    if (lock === undefined || state?.target !== target.opened.ino || isAnother) return void (await close())
    // Without locks nobody can tell.
    const hint = 'another mirror writes to this target: give each a target of its own'
    if ((await tryLock(lock.calls, lock.fd)) === 'taken') throw failure('EBUSY', 'mirror', shown, hint)
    return {
      name,
      state,
      remove: () => removeStaging(target, name, held, lock),
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Removes a staging directory: a mirror's entries in it, and nothing else. A user who may write the target may have given its name to a
 * directory of this user's, or the other way round.
 *
 * @param lock of this process's, which is closed
 * @param isMade true: this process has made it, so its entries are known, whatever the file system says of owners and modes
 */
export async function removeStaging(
  target: DirectoryHandle,
  name: string,
  held: DirectoryHandle,
  lock?: HeldFile,
  isMade = false,
): Promise<void> {
  // A directory that has been removed, with the target most often, is one that cannot be listed: getdents(2).
  const names = await held.names(MOST_NAMES).catch(except('ENOENT', 'ESTALE'))
  for (const work of (names ?? []).map(String))
    if (work.startsWith(WORK_PREFIX)) await removeTree(held, work, isMade ? undefined : isOwn)
  // The state file first: being killed in here leaves what removeUnfinished() knows.
  for (const file of STATE_FILES) await removeTree(held, file, isMade ? undefined : isNote)
  // FUSE and NFS keep a file that is removed while it is open, under another name: the directory would not be empty.
  await lock?.[Symbol.asyncDispose]()
  await removeTree(held, LOCK_FILE, isMade ? undefined : isNote)
  const now = await target.lstat(name).catch(except('ENOENT', 'ENOTDIR'))
  if (now?.dev !== held.opened.dev || now.ino !== held.opened.ino) return
  // If another directory has taken the name since, rmdir(2) removes it only if it is empty.
  await target.calls.unlink(target.at(name), AT_REMOVEDIR).catch(except('ENOENT', 'ENOTEMPTY', 'ENOTDIR'))
}

/** Opens the lock file of a staging directory of this user's; undefined if there is none. Does not open another user's file for writing. */
async function openLock(staging: DirectoryHandle): Promise<HeldFile | undefined> {
  await using file = await staging.hold(LOCK_FILE).catch(orAbsent)
  if (file === undefined || !isNote(file.opened)) return undefined
  return await openToLock(file).catch(orAbsent)
}

/**
 * Removes the staging directories that have no state file, as their mirrors were killed while they made or removed them. A maker that has
 * not come to taking its lock begins again.
 */
export async function removeUnfinished(target: DirectoryHandle): Promise<void> {
  for (const name of await stagingsIn(target)) {
    await using held = await target.directory(name).catch(orAbsent)
    if (held === undefined || !(await isUnfinished(held))) continue
    await using lock = await openLock(held)
    // Without a lock the directory is empty, or its maker has just come to the lock: then rmdir(2) fails, and the directory stays.
    if (lock === undefined) await target.calls.unlink(target.at(name), AT_REMOVEDIR).catch(() => {})
    else if (await isAbandoned(held, lock)) await removeStaging(target, name, held, lock)
  }
}

/** Returns true if nobody is making a staging directory any more. Its lock is held from here on: a mirror that has only just opened the lock begins again. */
async function isAbandoned(held: DirectoryHandle, lock: HeldFile): Promise<boolean> {
  const answer = await tryLock(lock.calls, lock.fd)
  if (answer !== 'no locks here') return answer === 'ours'
  return Date.now() - Number(held.opened.mtimeNs / 1_000_000n) >= UNBORN_FOR
}

/** Returns true if a directory has nothing in it but what a staging directory of this user's has before and after its state file. */
async function isUnfinished(held: DirectoryHandle): Promise<boolean> {
  if (!isOwn(held.opened)) return false
  const known = [LOCK_FILE, STATE_FILES[1]]
  // Another mirror's that ends just now may be gone, and one that cannot be listed is not ours to remove.
  const names = await held.names(known.length + 1).catch(() => undefined)
  if (names === undefined) return false
  for (const name of names.map(String)) {
    if (!known.includes(name)) return false
    const stat = await held.lstat(name).catch(() => undefined)
    if (stat !== undefined && !isNote(stat)) return false
  }
  return true
}
