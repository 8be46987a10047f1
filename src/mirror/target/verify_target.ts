import { leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import { statKey, type TargetNode, type TargetTree } from '../plan/tree.ts'
import { Displaced, orAbsent } from '../source/errors.ts'
import type { Inventory } from './inventory.ts'

/** Names that are looked at at once. */
const AT_ONCE = 64

/**
 * Returns the entries of a directory of the target that are as they were put there: the given ones themselves if all are, else others,
 * without those that somebody has removed, replaced or written to.
 */
export async function untouched(
  held: DirectoryHandle,
  { entries }: TargetTree,
  prefix: string,
  inventory: Inventory,
): Promise<Map<string, TargetNode>> {
  const kept = new Map(entries)
  let isWhole = true
  const set = (name: string, node: TargetNode, now: TargetNode | undefined) => {
    if (now === node) return
    isWhole = false
    if (now !== undefined) return void kept.set(name, now)
    inventory.forget(prefix + name, node)
    kept.delete(name)
  }
  const leaves = [...entries].filter(([, { kind }]) => kind !== 'directory')
  for (let first = 0; first < leaves.length; first += AT_ONCE) {
    const some = leaves.slice(first, first + AT_ONCE)
    const stats = await Promise.all(some.map(([name]) => held.lstat(name).catch(orAbsent)))
    for (const [index, [name, node]] of some.entries()) {
      const stat = stats[index]
      set(name, node, stat && inventory.verify(prefix + name, stat) ? node : undefined)
    }
  }
  for (const [name, node] of entries)
    if (node.kind === 'directory')
      set(name, node, await untouchedDirectory(held, name, node, prefix + name, inventory))
  return isWhole ? entries : kept
}

async function untouchedDirectory(
  held: DirectoryHandle,
  name: string,
  node: TargetTree,
  path: string,
  inventory: Inventory,
): Promise<TargetTree | undefined> {
  const child = await held.directory(name).catch(orAbsent)
  if (child === undefined) return undefined
  try {
    if (!inventory.isSame(path, child.opened)) return undefined
    const entries = await untouched(child, node, `${path}/`, inventory)
    // The wrong mode or owner is mended in place.
    const key = inventory.verify(path, child.opened) ? node.key : statKey(child.opened)
    return entries === node.entries && key === node.key ? node : { ...node, key, entries }
  } finally {
    await child.close()
  }
}

/** Takes note of an entry that has been put in place, with all beneath it. Throws {@link Displaced} if it is another by now. */
export async function confirm(
  parent: DirectoryHandle,
  path: string,
  node: TargetNode,
  inventory: Inventory,
): Promise<void> {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (node.kind !== 'directory') {
    const stat = await parent.lstat(name).catch(orAbsent)
    const isText = node.kind !== 'link' || stat?.link === node.to
    if (stat === undefined || !isText || !inventory.confirm(path, stat)) throw new Displaced(path)
    return
  }
  await using held = await parent.directory(name).catch(orAbsent)
  if (held === undefined || !inventory.confirm(path, held.opened)) throw new Displaced(path)
  await leavesAtOnce(node.entries, (child, of) => confirm(held, `${path}/${child}`, of, inventory))
}
