import { InotifyError } from '../errors.ts'
import { LOCK_EX, LOCK_NB } from '../mounts/calls.ts'
import type { HeldDirectory, HeldFile } from '../mounts/held.ts'
import { removeTree } from '../mounts/remove_tree.ts'
import { codeOf } from './interrupted.ts'
import { isOwn, type Ledger, readLedger } from './ledger.ts'

/** Entries of a target that are a mirror's own and not content. */
export const STAGING_PREFIX = '.inotify-bridge-'
/** Of one that is being made: it has no ledger yet, and says nothing about who mirrors. */
export const UNBORN_PREFIX = `${STAGING_PREFIX}new-`
/** The file that a running mirror has locked: nobody else can open it, and the kernel gives the lock back however the process ends. */
export const LOCK_FILE = 'lock'
/** ms after which nobody is making a staging directory any more. */
const UNBORN_FOR = 60_000

/** The staging directory of a mirror that has ended, held and locked until it is disposed of. */
export interface Leftover extends AsyncDisposable {
  readonly name: string
  /** undefined where there is nothing that is to be believed. */
  readonly ledger: Ledger | undefined
  remove(): Promise<void>
}

/** Names of the staging directories in a target. */
export async function stagingsIn(target: HeldDirectory): Promise<string[]> {
  const names = (await target.names()).map(String)
  return names.filter((name) => name.startsWith(STAGING_PREFIX) && !name.startsWith(UNBORN_PREFIX))
}

/**
 * Opens the staging directory `name`, if it was left by a mirror of this user whose place is to be taken. undefined if not: then it is
 * not to be touched.
 *
 * @param only the one entry that is mirrored to, '' for the whole directory
 * @throws InotifyError EBUSY if its mirror is running
 */
export async function openLeftover(
  target: HeldDirectory,
  name: string,
  only: string,
  shown: string,
): Promise<Leftover | undefined> {
  const held = await target.directory(name).catch(() => undefined)
  if (held === undefined) return undefined
  let lock: HeldFile | undefined
  const close = async () => {
    await lock?.[Symbol.asyncDispose]()
    await held.close()
  }
  try {
    // What somebody else has laid there, or could have written into, says nothing.
    if (!isOwn(held.opened)) return void (await close())
    const ledger = await readLedger(held)
    const isAnother = ledger !== undefined && ledger.only !== '' && only !== '' && ledger.only !== only
    if (isAnother) return void (await close())
    // Moved here from another target, it speaks of that one.
    const isOfThis = ledger?.target === target.opened.ino
    lock = await held.file(LOCK_FILE).catch(() => undefined)
    if (lock !== undefined && (await isTaken(lock))) {
      if (!isOfThis) return void (await close())
      throw busy(shown)
    }
    return {
      name,
      ledger: isOfThis ? ledger : undefined,
      remove: () =>
        removeTree(target, name, ({ dev, ino }) => dev === held.opened.dev && ino === held.opened.ino),
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Takes the lock that says "I mirror to this target". Where there are no locks nobody can tell. */
export async function isTaken({ calls, fd }: HeldFile): Promise<boolean> {
  try {
    await calls.lock(fd, LOCK_EX | LOCK_NB)
    return false
  } catch (error) {
    return codeOf(error) === 'EAGAIN'
  }
}

/** Removes what mirrors left that were killed while they made it. */
export async function removeUnborn(target: HeldDirectory): Promise<void> {
  const names = (await target.names()).map(String)
  for (const name of names.filter((name) => name.startsWith(UNBORN_PREFIX))) {
    await removeTree(
      target,
      name,
      (stat) => isOwn(stat) && Date.now() - Number(stat.mtimeNs / 1_000_000n) > UNBORN_FOR,
    )
  }
}

function busy(path: string): InotifyError {
  return new InotifyError({
    errno: 'EBUSY',
    syscall: 'mirror',
    path,
    hint: 'another mirror writes to this target: give each a target of its own',
  })
}
