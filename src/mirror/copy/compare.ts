import { leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { TargetTree } from '../plan/tree.ts'
import type { SourceHandle } from '../source/source_handle.ts'
import { digestFile } from './safe_copy.ts'

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
