import { atOnce } from '../../mounts/syscalls/concurrency.ts'
import { whileThere } from '../../volume/data_link.ts'
import { DATA } from '../../volume/layout.ts'
import { directoryLinks, follow } from '../plan/reach.ts'
import { nodeAt } from '../plan/tree.ts'
import type { Snapshot } from './snapshot.ts'
import { beneath, type SourceHandle } from './source_handle.ts'
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
    const names = path.split('/')
    const looking = beneath(root, names.slice(0, -1), (held) => held.lstat(names.at(-1) ?? ''))
    const stat = await whileThere(looking)
    const verdict = stat?.isSymbolicLink() ? judgeLink(path, stat.link, sources) : undefined
    if (node?.kind !== 'link' || verdict === undefined || !('to' in verdict) || verdict.to !== node.to)
      moved.add(path)
  })
  return moved
}
