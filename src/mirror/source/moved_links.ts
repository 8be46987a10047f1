import { atOnce } from '../../mounts/syscalls/concurrency.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { whileThere } from '../../volume/data_link.ts'
import { DATA } from '../../volume/layout.ts'
import { directoryLinks, follow } from '../plan/reach.ts'
import { nodeAt } from '../plan/tree.ts'
import type { Snapshot } from './snapshot.ts'
import type { SourceHandle } from './source_handle.ts'
import { judgeLink } from './symlink_policy.ts'

/**
 * The links to directories that say something else than when they were read. A directory that a link led to all the while is one version:
 * those who publish by links (git-sync, the AtomicWriter) change no directory that one leads to. The scan itself verifies the `..data` of a ConfigMap.
 *
 * @param sources absolute paths by which the source is known
 */
export async function movedLinks(
  root: SourceHandle,
  { tree, data }: Pick<Snapshot, 'tree' | 'data'>,
  sources: readonly string[],
): Promise<Set<string>> {
  const moved = new Set<string>()
  const isVerified = (path: string) => data !== undefined && follow(tree, path).links.includes(DATA)
  const links = directoryLinks(tree).filter((path) => !isVerified(path))
  await atOnce(links, async (path) => {
    const node = nodeAt(tree, path)
    const stat = await whileThere(lstatBeneath(root, path.split('/')))
    const verdict = stat?.isSymbolicLink() ? judgeLink(path, stat.link, sources) : undefined
    if (node?.kind !== 'link' || verdict === undefined || !('to' in verdict) || verdict.to !== node.to)
      moved.add(path)
  })
  return moved
}

async function lstatBeneath(root: SourceHandle, [name = '', ...rest]: readonly string[]): Promise<FileStat> {
  if (rest.length === 0) return await root.lstat(name)
  await using held = await root.directory(name)
  return await lstatBeneath(held, rest)
}
