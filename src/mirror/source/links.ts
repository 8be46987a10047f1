import { posix } from 'node:path'
import { atOnce } from '../../mounts/syscalls/concurrency.ts'
import { whileThere } from '../../volume/data_link.ts'
import { DATA } from '../../volume/layout.ts'
import { follow, linksIn } from '../plan/reach.ts'
import { nodeAt, type SourceTree } from '../plan/tree.ts'
import { LinksOutside } from './errors.ts'
import { beneath, type SourceHandle } from './source_handle.ts'

/** The verdict on a symlink: the text it has in the target, or why it is not published. */
export type LinkVerdict = { readonly to: string } | { readonly reason: string }

/**
 * Decides about a symlink of the source. One that stays beneath the source means the same in the target and is kept as it is, dangling
 * or not; an absolute one into the source becomes relative; any other would show the target's readers a part of the file system that
 * nobody offered them.
 *
 * @param path the link's own path, relative to the source
 * @param to its text
 * @param sources absolute paths by which the source is known
 */
export function judgeLink(path: string, to: string, sources: readonly string[]): LinkVerdict {
  const directory = posix.dirname(path)
  if (!posix.isAbsolute(to)) return staysBeneath(directory, to) ? { to } : outside(to)
  for (const source of sources) {
    const inside = posix.relative(source, to)
    if (to.split('/').includes('..') || inside === '..' || inside.startsWith('../')) continue
    return { to: posix.relative(directory === '.' ? '/' : `/${directory}`, `/${inside}`) || '.' }
  }
  return outside(to)
}

/**
 * The links to directories that say something else than when they were read. A directory that a link led to all the while is one version:
 * those who publish by links (git-sync, the AtomicWriter) change no directory that one leads to. The scan itself verifies the `..data` of a ConfigMap.
 *
 * @param sources absolute paths by which the source is known
 * @param withNowhere true: also the links that lead nowhere, perhaps only because the file behind one has gone since that link was led on
 */
export async function movedLinks(
  root: SourceHandle,
  { tree, data }: { readonly tree: SourceTree; readonly data: string | undefined },
  sources: readonly string[],
  withNowhere: boolean,
): Promise<Set<string>> {
  const moved = new Set<string>()
  const links = linksIn(tree).filter((path) => {
    const way = follow(tree, path)
    const isChecked = way.node === undefined ? withNowhere : way.node.kind === 'directory'
    return isChecked && (data === undefined || !way.links.includes(DATA))
  })
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

function outside(to: string): LinkVerdict {
  return { reason: new LinksOutside('the source', to).message }
}

/**
 * Returns true if a relative link in `directory` cannot leave the root. The directories above it are real ones, so leading `..` can be
 * counted; a `..` behind a name cannot, since that name may be a symlink itself (`a/..` is then not `.`).
 */
function staysBeneath(directory: string, to: string): boolean {
  const parts = to.split('/').filter((part) => part !== '' && part !== '.')
  const named = parts.findIndex((part) => part !== '..')
  const climbs = named === -1 ? parts.length : named
  if (parts.slice(climbs).includes('..')) return false
  return climbs <= (directory === '.' ? 0 : directory.split('/').length)
}
