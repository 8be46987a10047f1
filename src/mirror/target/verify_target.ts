import { leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { TargetNode, TargetTree } from '../plan/tree.ts'
import { orAbsent } from '../source/errors.ts'

/**
 * Returns the entries of a directory of the target that are as they were put there: the given ones themselves if all are, else others,
 * without those that somebody has removed, replaced or written to.
 */
export async function untouched(
  held: DirectoryHandle,
  { entries }: TargetTree,
): Promise<Map<string, TargetNode>> {
  const kept = new Map(entries)
  let isWhole = true
  await leavesAtOnce(entries, async (name, node) => {
    const now = await untouchedNode(held, name, node)
    isWhole &&= now === node
    if (now === undefined) kept.delete(name)
    else kept.set(name, now)
  })
  return isWhole ? entries : kept
}

async function untouchedNode(
  held: DirectoryHandle,
  name: string,
  node: TargetNode,
): Promise<TargetNode | undefined> {
  if (node.kind !== 'directory') {
    const stat = await held.lstat(name).catch(orAbsent)
    return stat && node.placed?.verify(stat) ? node : undefined
  }
  await using child = await held.directory(name).catch(orAbsent)
  if (child === undefined || node.placed?.isSame(child.opened) !== true) return undefined
  const entries = await untouched(child, node)
  // The wrong mode or owner is mended in place.
  const key = node.placed.verify(child.opened) ? node.key : child.opened
  return entries === node.entries && key === node.key ? node : { ...node, key, entries }
}
