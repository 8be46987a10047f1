import { FileOperations } from '../kernel/file_operations.ts'
import { FileTree, Refused } from '../kernel/file_tree.ts'
import { callsOf } from './operation.ts'
import { NESTED, ROOT, type Scenario, TREES } from './scenario.ts'

/** Whether the path of the root in the other is a link to where it lies, which only that root follows: the judge does not know what is to be told then. */
export function leadsAround(tree: FileTree): boolean {
  try {
    return [tree.root, tree.at(ROOT)].includes(tree.at(NESTED))
  } catch (error) {
    if (error instanceof Refused) return false
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
