import { posix } from 'node:path'
import type { Missing, Staged } from '../copy/staged.ts'
import type { Snapshot } from '../source/snapshot.ts'
import type { Source } from '../source/source.ts'
import type { Link, SourceTree, TargetNode, TargetTree } from './tree.ts'

/**
 * A link for each file, so that readers see what is there, though without events. Directories are real ones: one that were a link
 * would show all that is in the source's, what is not mirrored as well. The keys of a ConfigMap lead over its `..data`, wherever in the
 * source that is, so that a swap there is seen at once, and nothing dangles when the version before is removed.
 */
export function linked(
  { tree, data, generation }: Pick<Snapshot, 'tree' | 'data' | 'generation'>,
  { path, alias }: Pick<Source, 'path' | 'alias'>,
): Staged {
  const missing: Missing[] = []
  const skip = (path: string, reason: string) => void missing.push({ path, reason, isPassing: false })
  const linkAll = (source: SourceTree, below: string): TargetTree => {
    const entries = new Map<string, TargetNode>()
    const current = source.entries.get('..data')
    for (const [name, node] of source.entries) {
      const at = below + (current?.kind === 'link' && current.to === name ? '..data' : name)
      if (below === '' && data !== undefined && (name === data || name === '..data')) continue
      if (node.kind === 'unreadable') skip(at, node.reason)
      else if (node.kind === 'directory') entries.set(name, linkAll(node, `${at}/`))
      else entries.set(name, node.kind === 'link' ? node : linkTo(alias === undefined ? at : ''))
    }
    return { kind: 'directory', key: source.key, entries }
  }
  const linkTo = (at: string): Link => ({ kind: 'link', to: posix.join(path, at) })

  const { entries } = linkAll(tree, '')
  const all = { entries, generation: undefined, missing, wanting: new Set<string>(), failures: [] }
  if (data === undefined) return all
  if (typeof generation !== 'string')
    return { ...all, generation: { name: data, tree: linkAll(generation, '..data/') } }
  skip('..data', generation)
  return all
}
