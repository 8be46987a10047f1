import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'

/**
 * Whether a directory is laid out as the kubelet's AtomicWriter leaves it: `..data` links to the one directory, whose name begins with
 * '..', and beside them are only links. All that happens to it makes, renames or removes a name in it, which its own times tell: a
 * generation is replaced, never written to.
 */
export function isAtomicLayout(directory: Directory, tree: Tree): boolean {
  if (!directory.isListed || !directory.mayHold('..data')) return false
  const entries = tree.entriesOf(directory)
  const data = entries.get('..data')
  if (data?.kind !== 'symlink') return false
  const others: string[] = []
  for (const [name, { kind }] of entries) {
    if (kind === 'symlink') continue
    if (kind !== 'directory' || others.push(name) > 1) return false
  }
  const [generation = ''] = others
  // A link is as long as the name that it leads to, and such names are ASCII.
  return generation.startsWith('..') && data.stat?.size === generation.length
}
