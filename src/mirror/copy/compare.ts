import { leavesAtOnce } from '../../mounts/syscalls/concurrency.ts'
import type { StatKey } from '../../mounts/syscalls/stat_watch.ts'
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

/** The digest of a file in a directory beneath `root`, whose path ends with '/' or is ''. */
export async function digestBeneath(
  root: SourceHandle,
  directory: string,
  name: string,
  key: StatKey,
): Promise<string> {
  const [first, ...rest] = directory.split('/')
  if (first === undefined || first === '') return await digestFile(root, name, key)
  await using held = await root.directory(first)
  return await digestBeneath(held, rest.join('/'), name, key)
}
