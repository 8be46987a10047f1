import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser } from '../../mounts/syscalls/ownership.ts'
import { keyOf } from '../../name_key.ts'
import { DATA_NEXT } from '../../volume/layout.ts'
import { digestFile } from '../copy/safe_copy.ts'
import { identityOf, Placed } from '../plan/placed.ts'
import type { TargetNode, TargetTree } from '../plan/tree.ts'
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
  const reader = new Reader(bytes)
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
    const node = await reader.node(target, name, stat, 0)
    if (node !== undefined) entries.set(name, node)
  }
  return { kind: 'directory', key: await target.stat(), entries }
}

/** Reads within bounds: in a directory of the target that others may write there may be anything by now. */
class Reader {
  // The bytes left to be read.
  #bytes: bigint
  #entries = 0

  constructor(bytes: number) {
    this.#bytes = BigInt(Math.min(bytes, Number.MAX_SAFE_INTEGER))
  }

  /** Returns undefined for entries that no mirror makes: sockets and the like. */
  async node(
    parent: DirectoryHandle,
    name: string,
    stat: FileStat,
    depth: number,
  ): Promise<TargetNode | undefined> {
    this.#entries++
    const key = stat
    if (stat.isDirectory()) return await this.#directory(parent, name, stat, depth)
    if (!stat.isSymbolicLink() && !stat.isFile()) return undefined
    const placed = new Placed(stat, true)
    if (stat.isSymbolicLink()) return { kind: 'link', to: stat.link, placed }
    // One that cannot be read, its mode may forbid that even to us, is like no source: it is replaced.
    this.#bytes -= stat.size
    const digest = this.#bytes < 0n ? '' : await digestFile(parent, name, key).catch(() => '')
    return { kind: 'file', key, digest, placed }
  }

  async #directory(
    parent: DirectoryHandle,
    name: string,
    { ino }: FileStat,
    depth: number,
  ): Promise<TargetNode | undefined> {
    await using held = await parent.directory(name).catch(orAbsent)
    if (held === undefined || held.opened.ino !== ino) return undefined
    const placed = new Placed(held.opened, true)
    const entries = new Map<string, TargetNode>()
    const node: TargetTree = { kind: 'directory', key: held.opened, entries, placed }
    // No mirror makes more: what is left out here goes with the directory, or stays in it.
    if (depth > MAX_DEPTH) return node
    for (const child of (await held.names(MAX_ENTRIES)).map(keyOf)) {
      if (this.#entries > MAX_ENTRIES) break
      const stat = await held.lstat(child).catch(() => undefined)
      const made = stat && (await this.node(held, child, stat, depth + 1))
      if (made !== undefined) entries.set(child, made)
    }
    return node
  }
}
