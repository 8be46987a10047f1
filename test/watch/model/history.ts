import type { Change } from '../../../src/index.ts'

const isAtOrAbove = (told: string, path: string) => `${path}/`.startsWith(`${told}/`)
const moved = (path: string, from: string, to: string) => to + path.slice(from.length)

/** The indices of the changes that tell of what has this path in the end, or of what it lies in, by whatever names they had then. */
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
