import { type Entry, mayBeChangedSince } from '../scan/entry.ts'
import type { Listing } from '../scan/listing.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { type SavedEntry, SectionWriter } from './format.ts'

/** What a walk has seen in directories of which no stat is kept. */
export type Seen = ReadonlyMap<Directory, Listing>

/** What is believed below a top, as a section. */
export function sectionOf(
  tree: Pick<Tree, 'peek'>,
  top: Directory,
  seen: Seen,
  doubtedSince: (directory: Directory) => number,
): Buffer {
  const writer = new SectionWriter()
  const directories = [top]
  for (let i = 0; i < directories.length; i++) {
    const directory = directories[i] as Directory
    const entries = tree.peek(directory)
    const since = doubtedSince(directory)
    const listing = seen.get(directory)
    writer.directory(entries.size)
    const write = (name: string, entry: Entry, now: Entry | undefined) => {
      writer.entry(name, saved(entry, now, since))
      if (entry instanceof Directory) directories.push(entry)
    }
    if (listing === undefined) {
      const isKept = keepsStat(directory)
      for (const [name, entry] of entries) write(name, entry, isKept ? entry : undefined)
      continue
    }
    // In the order in which they are listed: a listing that is the same the next time is known by its bytes.
    const found = listing.entries()
    for (const [name, now] of found) {
      const entry = entries.get(name)
      if (entry !== undefined) write(name, entry, now)
    }
    for (const [name, entry] of entries) if (!found.has(name)) write(name, entry, undefined)
  }
  return writer.take()
}

/** A root that is a file. */
export function sectionOfFile(entry: Entry, doubtedSince: number): Buffer {
  const writer = new SectionWriter()
  writer.entry('', saved(entry, entry, doubtedSince))
  return writer.take()
}

/**
 * @param now what was seen of it just now, which may be another, or newer than what has been told
 * @param doubtedSince ms since the epoch: what has changed from then on has not been told for sure
 */
function saved(entry: Entry, now: Entry | undefined, doubtedSince: number): SavedEntry {
  const { kind } = entry
  const isEntered = entry instanceof Directory
  const base = isEntered && entry.parent !== undefined && entry.mount.base === entry ? entry.mount : undefined
  if (base !== undefined) {
    const { mountId, link } = base
    // Of what is told of it its own listing says all.
    return {
      entry: { kind, ino: entry.ino },
      isEntered,
      isInDoubt: false,
      base: { mountId, link },
    }
  }
  const isIt = now?.kind === kind && (entry.ino === 0 || now.ino === entry.ino)
  const stat = isIt ? now.stat : undefined
  const isInDoubt = stat === undefined || mayBeChangedSince(stat, doubtedSince)
  return { entry: { kind, ino: entry.ino || (isIt ? now.ino : 0), stat }, isEntered, isInDoubt }
}
