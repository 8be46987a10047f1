import { type Entry, mayBeChangedSince, NO_STAT, UNLIKE_ANY } from '../scan/entry.ts'
import type { Listing } from '../scan/listing.ts'
import { pack } from '../scan/packed_entries.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import { Directory } from '../tree/directory.ts'
import type { SavedBase, SavedDirectory } from './format.ts'

/** The listings that a walk has made of directories without kept stats. */
export type Seen = ReadonlyMap<Directory, Listing>

/** Returns the known directories from a top on, those of one level before those of the next. */
export function savedDirectories(
  top: Directory,
  seen: Seen,
  doubtedSince: (directory: Directory) => number,
): SavedDirectory[] {
  const all: SavedDirectory[] = [{ parent: -1, self: '', base: undefined, entries: '' }]
  const directories = [top]
  for (let parent = 0; parent < directories.length; parent++) {
    const directory = directories[parent] as Directory
    const entries = directory.peek()
    const since = doubtedSince(directory)
    const listing = seen.get(directory)
    const others: Array<[string, Entry]> = []
    const add = (name: string, entry: Entry, now: Entry | undefined) => {
      if (!(entry instanceof Directory)) {
        others.push([name, savedEntry(entry, now, since)])
        return
      }
      const base = baseAt(entry)
      // A base's own listing says all that is reported of the base.
      const self = base === undefined ? savedEntry(entry, now, since) : { kind: entry.kind, ino: entry.ino }
      all.push({ parent, self: pack([[name, self]]), base, entries: '' })
      directories.push(entry)
    }
    if (listing === undefined) {
      const isKept = keepsStat(directory)
      for (const [name, entry] of entries) add(name, entry, isKept ? entry : undefined)
    } else {
      // In the order in which they are listed: a listing that is the same the next time is known by its bytes.
      const found = listing.entries()
      for (const [name, now] of found) {
        const entry = entries.get(name)
        if (entry !== undefined) add(name, entry, now)
      }
      for (const [name, entry] of entries) if (!found.has(name)) add(name, entry, undefined)
    }
    ;(all[parent] as SavedDirectory).entries = pack(others)
  }
  return all
}

function baseAt(directory: Directory): SavedBase | undefined {
  const { parent, mount } = directory
  return parent !== undefined && mount.base === directory
    ? { mountId: mount.mountId, link: mount.link }
    : undefined
}

/**
 * Returns an entry as it is saved. One that may have changed after it was looked at is saved with times like no other, and so reported as changed.
 *
 * @param now the entry seen just now, which may be another, or newer than what has been reported
 * @param doubtedSince ms since the epoch: changes from then on may not have been reported
 */
export function savedEntry({ kind, ino }: Entry, now: Entry | undefined, doubtedSince: number): Entry {
  const isIt = now?.kind === kind && (ino === 0 || now.ino === ino)
  const stat = isIt ? now.stat : undefined
  const saved = { kind, ino: ino || (isIt ? now.ino : 0) }
  if (stat !== undefined && !mayBeChangedSince(stat, doubtedSince)) return { ...saved, stat }
  // A changed directory is known by its mode, all else by its times. No entry has a mode of 0, which has no type.
  return { ...saved, stat: { ...(stat ?? NO_STAT), mode: 0, mtime: UNLIKE_ANY } }
}
