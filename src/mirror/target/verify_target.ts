import { atOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { TargetNode, TargetTree } from '../plan/tree.ts'
import { orAbsent } from '../source/errors.ts'

/** Names that are looked at at once. */
const AT_ONCE = 64

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
  const set = (name: string, node: TargetNode, now: TargetNode | undefined) => {
    if (now === node) return
    isWhole = false
    if (now === undefined) kept.delete(name)
    else kept.set(name, now)
  }
  const all = [...entries]
  const look = async ([name, node]: [string, TargetNode]) => {
    const stat = await held.lstat(name).catch(orAbsent)
    set(name, node, stat && node.placed?.verify(stat) ? node : undefined)
  }
  await atOnce(
    all.filter(([, { kind }]) => kind !== 'directory'),
    look,
    AT_ONCE,
  )
  for (const [name, node] of all)
    if (node.kind === 'directory') set(name, node, await untouchedDirectory(held, name, node))
  return isWhole ? entries : kept
}

async function untouchedDirectory(
  held: DirectoryHandle,
  name: string,
  node: TargetTree,
): Promise<TargetTree | undefined> {
  const child = await held.directory(name).catch(orAbsent)
  if (child === undefined) return undefined
  try {
    if (node.placed?.isSame(child.opened) !== true) return undefined
    const entries = await untouched(child, node)
    // The wrong mode or owner is mended in place.
    const key = node.placed.verify(child.opened) ? node.key : child.opened
    return entries === node.entries && key === node.key ? node : { ...node, key, entries }
  } finally {
    await child.close()
  }
}
