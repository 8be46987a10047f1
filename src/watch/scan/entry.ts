import { CLOCK_SLACK_MS } from '../clock.ts'
import type { Kind } from '../report/change.ts'

/** The fields of statx(2) that are compared. */
export interface Stat {
  mode: number
  uid: number
  gid: number
  nlink: number
  size: number
  /** Nanoseconds, folded into the 53 bits that a number holds: to be compared with `!==`, without an order. */
  mtime: number
  ctime: number
  /** ms since the epoch, to be compared with a moment. */
  ctimeMs: number
  /** When the file was made; 0 where the filesystem does not say. */
  btimeMs: number
  /** The digest of a file's content, if it was asked for and the file could be read: 16 bytes as latin1, of a root a SHA-256. */
  content?: string
}

/** The stat of an entry of which nothing was seen. */
export const NO_STAT: Stat = {
  mode: 0,
  uid: 0,
  gid: 0,
  nlink: 0,
  size: 0,
  mtime: 0,
  ctime: 0,
  ctimeMs: 0,
  btimeMs: 0,
}

/** The known entry of one name in a directory. */
export interface Entry {
  readonly kind: Kind
  /** Inode number, folded like a time; 0: not known. */
  ino: number
  /** As last seen. Kept where a poll must find out what has changed; otherwise an event tells. */
  stat?: Stat | undefined
}

/** A name to be looked at. */
export interface LookedAt {
  readonly name: string
  /** The entry seen there. null: nothing; undefined: no look was made. */
  seen: Entry | null | undefined
}

/** A directory's known entries by name. */
export type Entries = Map<string, Entry>

/** Returns true if two observations of one name are of one file, as far as its inode number tells. */
export function sameFile(a: Entry, b: Entry): boolean {
  return a.ino === b.ino && a.ino !== 0 && a.kind === b.kind
}

/** Returns true if nothing contradicts that two observations are of one file. */
export function mayBeSame(a: Entry, b: Entry): boolean {
  return a.kind === b.kind && (a.ino === b.ino || a.ino === 0 || b.ino === 0)
}

/** ms: a clock that goes by whole seconds may go by two (vfat), and does not say so. */
const COARSE_TICK = 2000

/** Stands for a time: compared with any, it is another. */
export const UNLIKE_ANY = Number.NaN

/**
 * Returns true if an entry may have changed since a moment, in ms since the epoch. A later change within the same tick leaves the entry's times as they
 * are, and a tick is long where a file system keeps whole seconds (ext4 with inodes of 128 bytes). native/scan/dir_reader.cc asks the same.
 */
export function mayBeChangedSince({ ctimeMs }: Pick<Stat, 'ctimeMs'>, since: number): boolean {
  return ctimeMs + (ctimeMs % 1000 === 0 ? COARSE_TICK : 0) >= since
}

/**
 * Returns true if a name has another inode number, and nothing else of it has changed.
 *
 * @param since ms since the epoch: all changes before had been seen when `before` was. An entry that takes the place of another has its ctime set by that.
 * @param isAtItsPlace false: a link or a directory on the way may lead elsewhere by now, which sets no time of the entries there. But where files have times of
 *   birth, numbers last as a rule.
 */
export function isRenumbered(before: Entry, after: Entry, since: number, isAtItsPlace = false): boolean {
  const [old, now] = [before.stat, after.stat]
  if (before.kind !== after.kind || mayBeSame(before, after) || old === undefined || now === undefined)
    return false
  const hasSameTimes = old.mtime === now.mtime && old.ctime === now.ctime && old.btimeMs === now.btimeMs
  const isAlike = sameOwner(old, now) && old.size === now.size && old.nlink === now.nlink
  // Times of whole seconds are up to 1000 ms behind.
  const tick = now.ctimeMs % 1000 === 0 ? 1000 : 0
  return hasSameTimes && isAlike && now.ctimeMs + tick < since && (isAtItsPlace || now.btimeMs === 0)
}

/**
 * Returns how one observation of a name differs from the one before. Compared with `!==`, never with `>`: a restored mtime and an older
 * file put in place are changes too.
 *
 * @param since ms since the epoch. Where nothing is known but the inode number, whatever has changed from then on is a modify.
 *   0: it is not known since when, and what a directory's times say is not known either.
 */
export function alteration(
  before: Entry,
  after: Entry,
  since: number,
): 'replace' | 'modify' | 'attrib' | undefined {
  if (before.kind !== after.kind) return 'replace'
  const [old, now] = [before.stat, after.stat]
  const replaced = !mayBeSame(before, after)
  if (before.kind === 'directory') {
    if (replaced) return 'replace'
    // A directory's own times, size and link count follow its entries, which have their own changes (or no watch).
    if (old !== undefined && now !== undefined) return sameOwner(old, now) ? undefined : 'attrib'
    // Making or removing an entry sets both times at once; chmod and chown the ctime alone.
    return since > 0 && now !== undefined && mayBeChangedSince(now, since) && now.ctime !== now.mtime
      ? 'attrib'
      : undefined
  }
  if (replaced) return 'modify'
  if (now === undefined) return undefined
  if (old === undefined) return mayBeChangedSince(now, since) ? 'modify' : undefined
  if (old.size !== now.size || old.mtime !== now.mtime || holdsOther(old, now)) return 'modify'
  // Another file has the name, and the cached attributes are those of the old one (overlay, FUSE): it was replaced.
  if (now.nlink === 0 && old.nlink > 0) return 'modify'
  if (!sameOwner(old, now) || old.nlink !== now.nlink) return 'attrib'
  // Only the ctime: an mtime was put back behind a write of the same size, for all we can tell.
  return old.ctime !== now.ctime ? 'modify' : undefined
}

/**
 * Returns what has become of a file that is watched by itself, whichever file is there by now.
 *
 * @param seenAt ms since the epoch: `before` was seen then, or later
 * @param doubtedSince ms since the epoch: the events of changes from then on were lost
 */
export function alterationOfFile(
  before: Entry,
  after: Entry,
  seenAt: number,
  doubtedSince = Number.POSITIVE_INFINITY,
): 'modify' | 'attrib' | undefined {
  if (isRenumbered(before, after, Math.min(seenAt, doubtedSince) - CLOCK_SLACK_MS)) return undefined
  const altered = alteration(before, after, 0)
  // A file with another mode may have been written as well.
  return altered === 'replace' || mayBeWrittenSince(after, doubtedSince) ? 'modify' : altered
}

/** Returns true if a file may have been written since a moment, in ms since the epoch, by a clock that may be behind. */
export function mayBeWrittenSince({ stat }: Entry, since: number): boolean {
  return stat !== undefined && mayBeChangedSince(stat, since - CLOCK_SLACK_MS)
}

/** Returns true if two contents are known to differ: one that could not be read is not. */
function holdsOther(a: Stat, b: Stat): boolean {
  return a.content !== undefined && b.content !== undefined && a.content !== b.content
}

/** Stands for the owner of a directory that was reported as changed and has not been seen since. */
export const UNKNOWN_OWNER = -1

/** Returns mode and owner of a directory as one number to be compared: what {@link sameOwner} compares, where no stat is kept. */
export function ownerKey(mode: number, uid: number, gid: number): number {
  return (Math.imul(Math.imul(mode, 65_599) + uid, 65_599) + gid) | 0
}

function sameOwner(a: Stat, b: Stat): boolean {
  return a.mode === b.mode && a.uid === b.uid && a.gid === b.gid
}

/**
 * Returns true if the entry at one name was at another before. The inode number alone does not tell: ext4 gives a freed one to the next file.
 * The time of birth does; if the filesystem has none, all fields that a rename leaves as they are must be equal.
 */
export function moved(before: Entry, after: Entry, since: number): boolean {
  if (!sameFile(before, after)) return false
  const [a, b] = [before.stat, after.stat]
  if (b === undefined) return false
  if (a === undefined) return b.btimeMs !== 0 && b.btimeMs < since
  if (a.btimeMs !== 0 && b.btimeMs !== 0) return a.btimeMs === b.btimeMs
  return sameOwner(a, b) && a.nlink === b.nlink && a.size === b.size && a.mtime === b.mtime
}

/** Returns how a moved entry differs from before, but for what a rename does to it. */
export function alterationOfMoved(before: Entry, after: Entry): 'modify' | 'attrib' | undefined {
  const [a, b] = [before.stat, after.stat]
  if (after.kind === 'directory') return a && b && !sameOwner(a, b) ? 'attrib' : undefined
  // Without a stat to compare with, it may have been written before or after it moved.
  if (a === undefined || b === undefined || a.size !== b.size || a.mtime !== b.mtime) return 'modify'
  if (holdsOther(a, b)) return 'modify'
  return sameOwner(a, b) ? undefined : 'attrib'
}
