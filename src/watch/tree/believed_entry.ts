import type { Entry } from '../scan/entry.ts'
import { Directory } from './directory.ts'

// The beliefs about an entry, which are less than what was seen of it, and the test whether it is the same entry.

/** Returns true if a poll must find out what has changed in the directory: then the stat of each entry is kept, to compare with. */
export function keepsStat(directory: Directory): boolean {
  return directory.mount.usesPolling || directory.mount.leftover.has(directory)
}

/**
 * Returns what to believe of an entry that was seen. Where events tell of writes, the times are left
 * out: they would say that a write has been told whose event may yet be lost.
 */
export function kept(directory: Directory, entry: Entry): Entry {
  return keepsStat(directory) ? entry : { kind: entry.kind, ino: entry.ino }
}

/**
 * Returns true if both are one entry of a directory under one name. Compares by kind and ino, not by
 * identity: the directory's entries may have been packed and unpacked in between, see {@link EntryCache}.
 */
export function isSameEntry(a: Entry | undefined, b: Entry): boolean {
  if (a instanceof Directory || b instanceof Directory) return a === b
  return a !== undefined && a.kind === b.kind && a.ino === b.ino
}
