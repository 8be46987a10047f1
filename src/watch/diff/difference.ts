import { type Change, exchangesOf, type Source } from '../report/change.ts'
import { alteration, alterationOfMoved, type Entries, type Entry, moved, sameFile } from '../scan/entry.ts'

/**
 * The changes that lead from one listing of a directory to another. Told in this order they do: renames come first, each after the
 * one that vacates its path; names that circle are exchanged.
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
  const alter = (from: string, name: string) => {
    const [old, entry] = [before.get(from) as Entry, after.get(name) as Entry]
    const altered = alterationOfMoved(old, entry)
    if (altered !== undefined) report(altered, name, entry)
  }
  for (const { names, isCircle } of inOrder(moves)) {
    if (isCircle) {
      const kinds = names.map((name) => (before.get(name) as Entry).kind)
      for (const change of exchangesOf(names.map(pathOf), kinds, source)) changes.push(change)
    }
    // The last first: each vacates the place of the one before.
    for (const name of names.reverse()) {
      const from = moves.get(name) as string
      const replaced = before.has(name) && !vacated.has(name)
      const { kind } = after.get(name) as Entry
      if (!isCircle)
        changes.push({
          type: 'rename',
          from: pathOf(from),
          path: pathOf(name),
          replaced,
          kind,
          mask: 0,
          source,
        })
      alter(from, name)
    }
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

/** Moves in the order in which they can be told: what was at each of these names is at the next, and of a circle the last at the first. */
function* inOrder(moves: ReadonlyMap<string, string>): Generator<{ names: string[]; isCircle: boolean }> {
  const destinations = new Map([...moves].map(([to, from]) => [from, to]))
  const told = new Set<string>()
  for (const start of moves.keys()) {
    if (told.has(start)) continue
    const names: string[] = []
    let to: string | undefined = start
    for (; to !== undefined && !told.has(to); to = destinations.get(to)) {
      told.add(to)
      names.push(to)
    }
    yield { names, isCircle: to === start }
  }
}
