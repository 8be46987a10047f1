import { FileOperations } from '../kernel/file_operations.ts'
import { FileTree, Refused } from '../kernel/file_tree.ts'
import type { Inode } from '../kernel/inode.ts'
import { callsOf } from './operation.ts'
import { MOST_LINKS, NESTED, type Scenario, TREES } from './scenario.ts'

/**
 * Returns if one of two nested roots follows a link at which the other one ends. Both end at a link to a
 * directory that the link lies in. Where the inner root's path is a link, the two disagree about the
 * directories above: the outer root goes by its own path, the inner root by the kernel's `..`. The right
 * changes then depend on which root told the link first, which the judge does not know. The same holds where
 * a link is one too many for the outer root alone.
 */
export function leadsAround(tree: FileTree): boolean {
  const nested = resolved(tree, NESTED)
  if (nested === undefined) return false
  const ways = [directoriesAbove(tree, NESTED), directoriesAbove(tree, nested.realPath)] as const
  // The outer root ends at the inner one's path, which this one follows in any case.
  if (ways[0].includes(nested.inode)) return true
  const isLink = tree.place(NESTED).inode?.kind === 'symlink'
  return partsAt(tree, NESTED, [nested.inode], ways, [isLink ? 1 : 0, 0])
}

type Way = readonly Inode[]

/**
 * Returns if the two roots disagree at a link in a directory or below.
 *
 * @param passed the directories from the inner root to this one, the last of them; they are the same for both
 * roots
 * @param ways the directories above the inner root: for the outer root, and for the inner one
 * @param links the number of links followed on the way: for the outer root, and for the inner one
 */
function partsAt(
  tree: FileTree,
  path: string,
  passed: Way,
  ways: readonly [Way, Way],
  links: readonly [number, number],
): boolean {
  for (const [name, inode] of passed.at(-1)?.children ?? []) {
    const entry = `${path}/${name}`
    const target = inode.kind === 'symlink' ? resolved(tree, entry)?.inode : inode
    if (target?.isDirectory !== true) continue
    if (inode.kind === 'symlink') {
      const [endsOne, endsOther] = ways.map(
        (way, i) => way.includes(target) || passed.includes(target) || links[i] === MOST_LINKS,
      )
      if (endsOne !== endsOther) return true
      if (endsOne) continue
    }
    const [one, other] = links
    const beyond = inode.kind === 'symlink' ? ([one + 1, other + 1] as const) : links
    if (partsAt(tree, entry, [...passed, target], ways, beyond)) return true
  }
  return false
}

/** Returns the directories above a path, the file system's root first. */
function directoriesAbove(tree: FileTree, path: string): Inode[] {
  const names = path.split('/').slice(1, -1)
  return [tree.root, ...names.map((_, i) => tree.at(`/${names.slice(0, i + 1).join('/')}`))]
}

function resolved(tree: FileTree, path: string): { inode: Inode; realPath: string } | undefined {
  try {
    return tree.resolve(path)
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

/** Returns if a link leads around, in the sense of {@link leadsAround}, after any of the operations. */
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
