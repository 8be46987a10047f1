import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser } from '../../mounts/syscalls/ownership.ts'
import { keyOf } from '../../name_key.ts'
import { DATA_NEXT } from '../../volume/layout.ts'
import { digestFile } from '../copy/safe_copy.ts'
import { identityOf, Placed, statKey, type TargetNode, type TargetTree } from '../plan/tree.ts'
import { orAbsent } from '../source/errors.ts'
import { MAX_DEPTH, MAX_ENTRIES } from '../source/snapshot.ts'

/**
 * Reads back the entries that earlier mirrors have noted down (with `only` nothing but that entry), so that taking over changes only
 * what differs and removes what the source has no longer. Any other entry of the target is not ours to remove.
 *
 * @param made the names, with the identities that the mirror's entry may have: another inode is somebody else's
 * @param bytes the most bytes that are read of files: in a directory that others may write there may be sparse files of any size
 */
export async function readBack(
  target: DirectoryHandle,
  made: ReadonlyMap<string, readonly string[]>,
  only: string,
  bytes: number,
): Promise<TargetTree> {
  // No mirror makes more, and in a directory of the target that others may write there may be anything by now.
  let [bytesLeft, entriesLeft] = [BigInt(Math.min(bytes, Number.MAX_SAFE_INTEGER)), MAX_ENTRIES]
  /** Returns undefined for entries that no mirror makes: sockets and the like. */
  const read = async (
    parent: DirectoryHandle,
    name: string,
    stat: FileStat,
    depth: number,
  ): Promise<TargetNode | undefined> => {
    entriesLeft--
    if (stat.isSymbolicLink()) return { kind: 'link', to: stat.link, placed: new Placed(stat, true) }
    if (stat.isFile()) {
      bytesLeft -= stat.size
      // One that cannot be read, its mode may forbid that even to us, is like no source: it is replaced.
      const digest = bytesLeft < 0n ? '' : await digestFile(parent, name, stat).catch(() => '')
      return { kind: 'file', key: statKey(stat), digest, placed: new Placed(stat, true) }
    }
    if (!stat.isDirectory()) return undefined
    await using held = await parent.directory(name).catch(orAbsent)
    if (held === undefined || held.opened.ino !== stat.ino) return undefined
    const entries = new Map<string, TargetNode>()
    // Entries that are left out here go with the directory, or stay in it.
    const names = depth > MAX_DEPTH ? [] : await held.names(MAX_ENTRIES)
    for (const child of names.map(keyOf)) {
      if (entriesLeft < 0) break
      const below = await held.lstat(child).catch(() => undefined)
      const node = below && (await read(held, child, below, depth + 1))
      if (node !== undefined) entries.set(child, node)
    }
    return { kind: 'directory', key: statKey(held.opened), entries, placed: new Placed(held.opened, true) }
  }
  const entries = new Map<string, TargetNode>()
  for (const name of (await target.names()).map(keyOf)) {
    // Unless a source has had an entry of the draft's name.
    const isData = name === '..data' || (name === DATA_NEXT && !made.has(name))
    const inodes = made.get(isData ? '..data' : name)
    if (inodes === undefined || (only !== '' && name !== only)) continue
    const stat = await target.lstat(name).catch(() => undefined)
    if (stat === undefined) continue
    // The link is made in place, so that its number is not known before. Nobody else's is a link of this user's.
    const isOwnLink = stat.isSymbolicLink() && stat.uid === effectiveUser()
    if (!inodes.includes(identityOf(stat)) && !(isData && isOwnLink)) continue
    const node = await read(target, name, stat, 0)
    if (node !== undefined) entries.set(name, node)
  }
  return { kind: 'directory', key: await target.stat(), entries }
}
