import { posix } from 'node:path'
import { LinksOutside } from './errors.ts'

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
