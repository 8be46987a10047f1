import { FileOperations } from '../kernel/file_operations.ts'
import { FileTree, Refused } from '../kernel/file_tree.ts'
import type { Inode } from '../kernel/inode.ts'
import { callsOf } from './operation.ts'
import { NESTED, ROOT, type Scenario, TREES } from './scenario.ts'

/**
 * Whether the path of the root in the other is a link to where it lies, or to where a link is that leads there: the root in the other follows that one, for
 * its directory does not lie in what it leads to, and the other one does not. The judge does not know what is to be told then.
 */
export function leadsAround(tree: FileTree): boolean {
  const above = [tree.root, at(tree, ROOT)]
  const nested = at(tree, NESTED)
  if (nested === undefined) return false
  if (above.includes(nested)) return true
  const all = [...tree.below('/')]
  // Without a link the path leads to what lies there.
  if (all.some(([path, inode]) => path.slice(1) === NESTED && inode === nested)) return false
  return all.some(
    ([path, { kind }]) =>
      kind === 'symlink' && !path.slice(1).startsWith(`${ROOT}/`) && above.includes(at(tree, path)),
  )
}

function at(tree: FileTree, path: string): Inode | undefined {
  try {
    return tree.at(path)
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

/** Whether it does so at some time. */
export function everLeadsAround({ settings, tree: before, operations }: Scenario): boolean {
  if (settings.nesting === '') return false
  const tree = new FileTree(() => 0)
  const files = new FileOperations(tree)
  return [...TREES[before], ...operations].some((operation) => {
    try {
      for (const _ of callsOf(operation, files, tree));
    } catch (error) {
      if (!(error instanceof Refused)) throw error
    }
    return leadsAround(tree)
  })
}
