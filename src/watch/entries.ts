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

/** The changes that lead from one listing of a directory to another. `pathOf` makes a name absolute. */
export function difference(
  before: Entries,
  after: Entries,
  pathOf: (name: string) => string,
  source: Source,
): Change[] {
  const changes: Change[] = []
  const gone = new Map<string, { name: string; entry: Entry }>()
  for (const [name, entry] of before) if (!after.has(name)) gone.set(identity(entry), { name, entry })

  const renamed = new Set<string>()
  for (const [name, entry] of after) {
    const old = before.get(name)
    if (old?.ino === entry.ino && old.kind === entry.kind) continue
    const from = gone.get(identity(entry))
    if (from === undefined) continue
    gone.delete(identity(entry))
    renamed.add(from.name).add(name)
    const replaced = old !== undefined
    const path = pathOf(name)
    changes.push({
      type: 'rename',
      from: pathOf(from.name),
      path,
      replaced,
      kind: entry.kind,
      mask: 0,
      source,
    })
  }

  const report = (type: 'create' | 'modify' | 'attrib' | 'delete', name: string, { kind }: Entry) =>
    changes.push({ type, path: pathOf(name), kind, mask: 0, source })
  for (const [name, entry] of before) {
    if (!after.has(name) && !renamed.has(name)) report('delete', name, entry)
  }
  for (const [name, entry] of after) {
    if (renamed.has(name)) continue
    const old = before.get(name)
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

// What a rename leaves as it was. The inode number alone would not do: ext4 gives a freed number to the next file.
function identity({ ino, kind, mode, size, mtimeNs }: Entry): string {
  return `${ino} ${kind} ${mode} ${size} ${mtimeNs}`
}
