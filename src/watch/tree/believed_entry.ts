import type { Entry } from '../scan/entry.ts'
import { Directory } from './directory.ts'

// What is believed of an entry, which is less than what was seen of it, and whether that is the same entry still.

/** Whether a poll must find out what has changed in it: then the stat of each entry is kept, to compare with. */
export function keepsStat(directory: Directory): boolean {
  return directory.mount.usesPolling || directory.mount.leftover.has(directory)
}

/**
 * What is believed of an entry that was seen. Where events tell what is written, its times are not: they would say that a write has been told of
 * whose event may yet be lost.
 */
export function kept(directory: Directory, entry: Entry): Entry {
  return keepsStat(directory) ? entry : { kind: entry.kind, ino: entry.ino }
}

/**
 * Whether two are one entry of a directory under one name. By what they say, since a directory's entries may have been packed and unpacked
 * in between: see {@link EntryCache}.
 */
export function isSameEntry(a: Entry | undefined, b: Entry): boolean {
  if (a instanceof Directory || b instanceof Directory) return a === b
  return a !== undefined && a.kind === b.kind && a.ino === b.ino
}
