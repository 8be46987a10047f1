import type { Change } from '../../../src/index.ts'

const isAtOrAbove = (told: string, path: string) => `${path}/`.startsWith(`${told}/`)
const moved = (path: string, from: string, to: string) => to + path.slice(from.length)

/**
 * Returns the indices of the changes of the entry that has this path at the end, or of a directory above, by
 * their names at the time.
 */
export function historyOf(changes: readonly Change[], path: string): number[] {
  const found: number[] = []
  let name = path
  for (let i = changes.length - 1; i >= 0; i--) {
    const change = changes[i] as Change
    const { path: told } = change
    const before =
      change.type === 'rename' ? change.from : change.type === 'exchange' ? change.other : undefined
    const hasLeft = before !== undefined && isAtOrAbove(before, name)
    const hasCome = isAtOrAbove(told, name)
    if (!hasLeft && !hasCome) continue
    found.unshift(i)
    if (before !== undefined && hasCome) name = moved(name, told, before)
    else if (change.type === 'exchange') name = moved(name, change.other, told)
  }
  return found
}
