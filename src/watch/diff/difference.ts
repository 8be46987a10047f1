import type { Change, Source } from '../report/change.ts'
import { alteration, alterationOfMoved, type Entries, type Entry, moved, sameFile } from '../scan/entry.ts'

/**
 * The changes that lead from one listing of a directory to another. Told in this order they do: renames come first, each after the
 * one that vacates its path; names that circle (an exchange is the smallest circle) are each `replaced: false`.
 *
 * @param pathOf makes a name absolute
 * @param since see {@link alteration}
 */
export function difference(
  before: Entries,
  after: Entries,
  pathOf: (name: string) => string,
  source: Source,
  since: number,
): Change[] {
  const changes: Change[] = []
  const moves = findMoves(before, after, since)
  const vacated = new Set(moves.values())
  const report = (type: 'create' | 'modify' | 'attrib' | 'delete', name: string, { kind }: Entry) =>
    changes.push({ type, path: pathOf(name), kind, mask: 0, source })
  for (const [from, name] of inOrder(moves)) {
    const replaced = before.has(name) && !vacated.has(name)
    const [old, entry] = [before.get(from) as Entry, after.get(name) as Entry]
    const { kind } = entry
    changes.push({ type: 'rename', from: pathOf(from), path: pathOf(name), replaced, kind, mask: 0, source })
    const altered = alterationOfMoved(old, entry)
    if (altered !== undefined) report(altered, name, entry)
  }
  for (const [name, entry] of before) {
    if (!after.has(name) && !vacated.has(name)) report('delete', name, entry)
  }
  for (const [name, entry] of after) {
    if (moves.has(name)) continue
    const old = vacated.has(name) ? undefined : before.get(name)
    if (old === undefined) report('create', name, entry)
    else {
      const altered = alteration(old, entry, since)
      if (altered === 'replace') {
        report('delete', name, old)
        report('create', name, entry)
      } else if (altered !== undefined) report(altered, name, entry)
    }
  }
  return changes
}

/** New names of what had another name before: new name to old. */
function findMoves(before: Entries, after: Entries, since: number): Map<string, string> {
  const stays = (name: string) => {
    const [old, now] = [before.get(name), after.get(name)]
    return old !== undefined && now !== undefined && sameFile(old, now)
  }
  const left = new Map<number, string[]>()
  for (const [name, entry] of before) {
    // Inode 0: never seen, so it cannot be recognised.
    if (entry.ino === 0 || stays(name)) continue
    const names = left.get(entry.ino)
    // Hard links that all moved: which went where makes no difference.
    if (names === undefined) left.set(entry.ino, [name])
    else names.push(name)
  }
  const moves = new Map<string, string>()
  if (left.size === 0) return moves
  for (const [name, entry] of after) {
    if (stays(name)) continue
    const names = left.get(entry.ino)
    const at = names?.findLastIndex((from) => moved(before.get(from) as Entry, entry, since)) ?? -1
    if (names !== undefined && at >= 0) moves.set(name, names.splice(at, 1)[0] as string)
  }
  return moves
}

/** Moves as [from, to], each behind the one that vacates its `to`. */
function* inOrder(moves: ReadonlyMap<string, string>): Generator<[string, string]> {
  const destinations = new Map([...moves].map(([to, from]) => [from, to]))
  const told = new Set<string>()
  for (const start of moves.keys()) {
    const chain: string[] = []
    for (let to: string | undefined = start; to !== undefined && !told.has(to); to = destinations.get(to)) {
      told.add(to)
      chain.push(to)
    }
    for (const to of chain.reverse()) yield [moves.get(to) as string, to]
  }
}
