import { DATA, isReserved } from '../../volume/layout.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'

/**
 * Returns true if the kubelet's AtomicWriter has laid the directory out: `..data` links to its one directory, whose name begins with '..', and all else
 * is links. Every change makes, renames or removes a name in it, which the directory's own times tell: a generation is replaced, never written to.
 */
export function isAtomicLayout(directory: Directory, tree: Tree): boolean {
  if (!directory.isListed || !directory.mayHold(DATA)) return false
  const entries = tree.entriesOf(directory)
  const data = entries.get(DATA)
  if (data?.kind !== 'symlink') return false
  const others: string[] = []
  for (const [name, { kind }] of entries) {
    if (kind === 'symlink') continue
    if (kind !== 'directory' || others.push(name) > 1) return false
  }
  const [generation = ''] = others
  // A link is as long as the name that it leads to, and such names are ASCII.
  return isReserved(generation) && data.stat?.size === generation.length
}
