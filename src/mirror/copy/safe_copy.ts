import { CallError, succeeds } from '../../mounts/syscalls/call_error.ts'
import { leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { withoutGroup } from '../../mounts/syscalls/ownership.ts'
import type { StatKey } from '../../mounts/syscalls/stat_watch.ts'
import { textOf } from '../../name_key.ts'
import { failure } from '../../publish/failure.ts'
import { mostOf, openVersion, readWhole } from '../../volume/read_file.ts'
import type { TargetTree } from '../plan/tree.ts'
import { codeOf } from '../source/errors.ts'
import type { SourceHandle } from '../source/source_handle.ts'

/** The SHA-256 of a regular file that must be the version `key` before the read; else {@link Torn}. For who knows what it should be. */
export async function digestFile(from: SourceHandle, name: string, key: StatKey): Promise<string> {
  await using source = await openVersion(from, name, key, mostOf(Number(key.size)))
  return (await readWhole(source, Number(key.size), () => {})).digest
}

/** Returns true if a directory that has all of a tree's stat keys has the tree's content, too. False if it cannot be read now: its copy tells why. */
export async function holdsTheSame(held: SourceHandle, tree: TargetTree): Promise<boolean> {
  let isSame = true
  await leavesAtOnce(tree.entries, async (name, node) => {
    if (node.kind === 'link' || !isSame) return
    try {
      if (node.kind === 'file') {
        isSame = (await digestFile(held, name, node.key)) === node.digest && isSame
        return
      }
      await using child = await held.directory(name)
      isSame = (await holdsTheSame(child, node)) && isSame
    } catch {
      isSame = false
    }
  })
  return isSame
}

/**
 * Gives a file or directory of the target the owner and mode of the source's. Nobody gets a right by it that the source does not
 * give.
 */
export async function copyAttributes(file: HeldFile, shown: string, key: StatKey): Promise<void> {
  const { calls, fd } = file
  const { uid, gid, mode } = key
  const had = file.opened
  const wasOwned = had.uid === uid && had.gid === gid
  const owned = wasOwned || (await tryChown(file, uid, gid, shown))
  // The group's members may well read a file that is mirrored as this user's own; other groups are others.
  const hasGroup = owned || had.gid === gid || (await tryChown(file, had.uid, gid, shown))
  const given = hasGroup ? Number(mode) : withoutGroup(Number(mode))
  // A set-id program would have its rights in the target though the source's mount is nosuid, as FUSE always is for a user.
  // On a directory the bits give no rights, but would those of another group. chown(2) clears them, hence the order.
  const bits = given & (owned && had.isDirectory() ? 0o7777 : 0o777)
  const own = had.isDirectory() ? ownBits(Number(owned ? uid : had.uid)) : 0
  if (wasOwned && (Number(had.mode) & 0o7777) === (bits | own)) return
  await onTarget(shown, calls.chmod(fd, bits | own))
}

/** false where it is refused: EPERM without CAP_CHOWN, EINVAL for an id that this user namespace does not know. */
async function tryChown({ calls, fd }: HeldFile, uid: bigint, gid: bigint, shown: string): Promise<boolean> {
  const giving = onTarget(shown, calls.chown(fd, Number(uid), Number(gid)))
  return await succeeds(giving, 'EPERM', 'EINVAL')
}

/**
 * The bits that the mirror needs itself to maintain a directory: without root's rights it could not write into a 0555 one. As the owner
 * it could take the right at any time, so the bits give nobody anything.
 */
function ownBits(owner: number): number {
  const user = process.geteuid?.()
  return user !== 0 && user === owner ? 0o700 : 0
}

const FULL = 'the target is full: give its tmpfs a larger size='
const HINTS: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', FULL],
  ['EDQUOT', FULL],
  ['EROFS', 'is it mounted read-only? The target needs a mount that can be written, best a tmpfs'],
  [
    'EACCES',
    "the mirror's user must be able to read, write and search the target: runAsUser or fsGroup in a pod, else chown",
  ],
  [
    'EPERM',
    'the target is immutable or append-only (lsattr -d shows it, chattr -i ends it), the entry is of another user in a sticky directory, or a seccomp filter refuses the call',
  ],
  ['ENOTDIR', 'a component of the path that should be a directory is none'],
])

/** Awaits calls on the target, whose failure becomes an {@link InotifyError}: errors of the source stay what they are. */
export async function onTarget<T>(shown: string, calls: Promise<T>): Promise<T> {
  try {
    return await calls
  } catch (error) {
    const hint = HINTS.get(codeOf(error)) ?? 'the target could not be written'
    throw error instanceof CallError ? failure(-error.errno, error.syscall, textOf(shown), hint) : error
  }
}
