import { atOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { TargetNode, TargetTree } from '../plan/tree.ts'
import { orAbsent } from '../source/errors.ts'
import type { Placed } from './inventory.ts'

/** Names that are looked at at once. */
const AT_ONCE = 64

/**
 * Returns the entries of a directory of the target that are as they were put there: the given ones themselves if all are, else others,
 * without those that somebody has removed, replaced or written to. `placed` forgets these.
 */
export async function untouched(
  held: DirectoryHandle,
  { entries }: TargetTree,
  placed: Placed,
): Promise<Map<string, TargetNode>> {
  const kept = new Map(entries)
  let isWhole = true
  const set = (name: string, node: TargetNode, now: TargetNode | undefined) => {
    if (now === node) return
    isWhole = false
    if (now !== undefined) return void kept.set(name, now)
    placed.set(name, undefined)
    kept.delete(name)
  }
  const all = [...entries]
  const look = async ([name, node]: [string, TargetNode]) => {
    const stat = await held.lstat(name).catch(orAbsent)
    set(name, node, stat && placed.at(name)?.verify(stat) ? node : undefined)
  }
  await atOnce(
    all.filter(([, { kind }]) => kind !== 'directory'),
    look,
    AT_ONCE,
  )
  for (const [name, node] of all)
    if (node.kind === 'directory')
      set(name, node, await untouchedDirectory(held, name, node, placed.at(name)))
  return isWhole ? entries : kept
}

async function untouchedDirectory(
  held: DirectoryHandle,
  name: string,
  node: TargetTree,
  placed: Placed | undefined,
): Promise<TargetTree | undefined> {
  const child = await held.directory(name).catch(orAbsent)
  if (child === undefined) return undefined
  try {
    if (placed?.isSame(child.opened) !== true) return undefined
    const entries = await untouched(child, node, placed)
    // The wrong mode or owner is mended in place.
    const key = placed.verify(child.opened) ? node.key : child.opened
    return entries === node.entries && key === node.key ? node : { ...node, key, entries }
  } finally {
    await child.close()
  }
}
