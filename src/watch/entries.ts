import type { BigIntStats } from 'node:fs'
import type { Change, Kind, Source } from './change.ts'

/** What is believed of one name in a directory. */
export interface Entry {
  kind: Kind
  ino: bigint
  mode: bigint
  uid: bigint
  gid: bigint
  nlink: bigint
  size: bigint
  mtimeNs: bigint
  ctimeNs: bigint
}

/** A directory's names, as believed. */
export type Entries = Map<string, Entry>

export function entryOf(stats: BigIntStats): Entry {
  const { ino, mode, uid, gid, nlink, size, mtimeNs, ctimeNs } = stats
  return { kind: kindOf(stats), ino, mode, uid, gid, nlink, size, mtimeNs, ctimeNs }
}

function kindOf(stats: BigIntStats): Kind {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  if (stats.isSymbolicLink()) return 'symlink'
  return 'other'
}

/** An entry of which only the kind is known: the name was gone before it could be looked at. */
export function vanished(kind: Kind): Entry {
  const none = 0n
  return {
    kind,
    ino: none,
    mode: none,
    uid: none,
    gid: none,
    nlink: none,
    size: none,
    mtimeNs: none,
    ctimeNs: none,
  }
}

/**
 * How one observation of a name differs from the one before. Compared with `!=`, never with `>`: a restored mtime and an older
 * file put in place are changes too.
 */
export function alteration(before: Entry, after: Entry): 'replace' | 'modify' | 'attrib' | undefined {
  if (before.kind !== after.kind) return 'replace'
  const owner = before.mode !== after.mode || before.uid !== after.uid || before.gid !== after.gid
  // A directory's own times, size and link count follow its entries, which have their own changes (or are not watched).
  if (before.kind === 'directory') return before.ino !== after.ino ? 'replace' : owner ? 'attrib' : undefined
  if (before.ino !== after.ino || before.size !== after.size || before.mtimeNs !== after.mtimeNs)
    return 'modify'
  if (owner || before.nlink !== after.nlink) return 'attrib'
  // Only the ctime: an mtime was put back behind a write of the same size, for all we can tell.
  return before.ctimeNs !== after.ctimeNs ? 'modify' : undefined
}

/**
 * The changes that lead from one listing of a directory to another. Told in this order they do: renames come first, each after the
 * one that vacates its path; names that circle (an exchange is the smallest circle) are each `replaced: false`.
 * `pathOf` makes a name absolute.
 */
export function difference(
  before: Entries,
  after: Entries,
  pathOf: (name: string) => string,
  source: Source,
): Change[] {
  const changes: Change[] = []
  const moves = findMoves(before, after)
  const vacated = new Set(moves.values())
  for (const [from, name] of inOrder(moves)) {
    const replaced = before.has(name) && !vacated.has(name)
    const kind = (after.get(name) as Entry).kind
    changes.push({ type: 'rename', from: pathOf(from), path: pathOf(name), replaced, kind, mask: 0, source })
  }

  const report = (type: 'create' | 'modify' | 'attrib' | 'delete', name: string, { kind }: Entry) =>
    changes.push({ type, path: pathOf(name), kind, mask: 0, source })
  for (const [name, entry] of before) {
    if (!after.has(name) && !vacated.has(name)) report('delete', name, entry)
  }
  for (const [name, entry] of after) {
    if (moves.has(name)) continue
    const old = vacated.has(name) ? undefined : before.get(name)
    if (old === undefined) report('create', name, entry)
    else {
      const altered = alteration(old, entry)
      if (altered === 'replace') {
        report('delete', name, old)
        report('create', name, entry)
      } else if (altered !== undefined) report(altered, name, entry)
    }
  }
  return changes
}

/** `entries`, but at `names` what `others` has there. */
export function withNames(entries: Entries, names: Iterable<string>, others: Entries): Entries {
  const mixed = new Map(entries)
  for (const name of names) {
    const other = others.get(name)
    if (other === undefined) mixed.delete(name)
    else mixed.set(name, other)
  }
  return mixed
}

/** Whether two observations of one name are of one file, as far as its inode number tells. */
export function sameFile(a: Entry, b: Entry): boolean {
  return a.ino === b.ino && a.ino !== 0n && a.kind === b.kind
}

/** Whether what is at one name now was at another before. The inode number alone would not do: ext4 gives a freed one to the next file. */
export function moved(before: Entry, after: Entry): boolean {
  return before.ino !== 0n && identity(before) === identity(after)
}

/** New names of what had another name before: new name to old. */
function findMoves(before: Entries, after: Entries): Map<string, string> {
  const stays = (name: string) => {
    const [old, now] = [before.get(name), after.get(name)]
    return old !== undefined && now !== undefined && sameFile(old, now)
  }
  const left = new Map<string, string[]>()
  for (const [name, entry] of before) {
    // Inode 0: never seen, so it cannot be recognised.
    if (stays(name) || entry.ino === 0n) continue
    const key = identity(entry)
    const names = left.get(key)
    // Hard links that all moved: which went where makes no difference.
    if (names === undefined) left.set(key, [name])
    else names.push(name)
  }
  const moves = new Map<string, string>()
  if (left.size === 0) return moves
  for (const [name, entry] of after) {
    const from = stays(name) ? undefined : left.get(identity(entry))?.pop()
    if (from !== undefined) moves.set(name, from)
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

// What a rename leaves as it was: all but the ctime.
function identity({ ino, kind, mode, uid, gid, nlink, size, mtimeNs }: Entry): string {
  return `${ino} ${kind} ${mode} ${uid} ${gid} ${nlink} ${size} ${mtimeNs}`
}
