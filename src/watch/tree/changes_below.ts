import type { Change, Kind, Source } from '../report/change.ts'
import type { Entry } from '../scan/entry.ts'
import { Directory } from './directory.ts'

// The changes of the entries that are believed to be below a changed directory: parents first.

export function eachBelow(type: 'create' | 'delete', entry: Entry, path: string, source: Source): Change[] {
  return entriesBelow(entry).map(([rest, kind]) => ({ type, path: path + rest, kind, mask: 0, source }))
}

/** @param displaced the entry that was at the new path before */
export function renamesBelow(
  entry: Entry,
  displaced: Entry | undefined,
  from: string,
  path: string,
  source: Source,
): Change[] {
  const deletes = displaced === undefined ? [] : eachBelow('delete', displaced, path, source)
  const renames = entriesBelow(entry).map(([rest, kind]) => renamed(from + rest, path + rest, kind, source))
  return [...deletes, ...renames]
}

/** Returns the changes below two entries that changed places. */
export function exchangesBelow(
  one: Entry,
  other: Entry,
  path: string,
  otherPath: string,
  source: Source,
): Change[] {
  const [ones, others] = [new Map(entriesBelow(one)), new Map(entriesBelow(other))]
  const changes: Change[] = []
  // An entry with the same relative path in both has changed places, and so have the entries below it.
  for (const [rest, otherKind] of ones) {
    const kind = others.get(rest)
    const [here, there] = [path + rest, otherPath + rest]
    if (kind === undefined) changes.push(renamed(here, there, otherKind, source))
    else changes.push({ type: 'exchange', path: here, other: there, kind, otherKind, mask: 0, source })
  }
  for (const [rest, kind] of others)
    if (!ones.has(rest)) changes.push(renamed(otherPath + rest, path + rest, kind, source))
  return changes
}

function renamed(from: string, path: string, kind: Kind, source: Source): Change {
  return { type: 'rename', from, path, replaced: false, kind, mask: 0, source }
}

/** Returns the relative paths below the entry: '/a', '/a/b'. Reads by peek(): most directories are looked at once, and stay packed. */
function entriesBelow(entry: Entry): Array<[rest: string, kind: Kind]> {
  const found: Array<[string, Kind]> = []
  const pending: Array<[string, Entry]> = [['', entry]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [above, directory] = next
    if (!(directory instanceof Directory)) continue
    for (const [name, each] of directory.peek()) {
      const rest = `${above}/${name}`
      found.push([rest, each.kind])
      if (each instanceof Directory) pending.push([rest, each])
    }
  }
  return found
}
