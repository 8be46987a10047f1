import { IN_CREATE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO } from '../../inotify/constants.ts'
import type { Entry } from '../scan/entry.ts'
import { isToEvents } from '../tree/directory.ts'
import type { BatchView } from './batch_view.ts'
import { ABOUT_NAME } from './watch_mask.ts'

/** The second of the two renames as which the kernel reports an exchange. */
export interface WayBack {
  /** The numbers of its events. */
  leaving: number
  arriving: number
  mask: number
}

/**
 * Finds the second rename of an exchange. The kernel reports renameat2(RENAME_EXCHANGE) as two renames, each onto the other's name; a rename over a file
 * and back gives the same events. They differ in whether the entry that the first displaced is still there: what becomes of the names tells. All four events
 * are of one read: see {@link Renames} for those that are not.
 *
 * @param arriving the number of the event by which the first rename arrives
 * @returns the second rename, undefined if this is no exchange
 */
export function findExchange(
  index: BatchView,
  arriving: number,
  came: Entry,
  displaced: Entry,
): WayBack | undefined {
  const { batch } = index
  const left = index.departures.get(batch.cookie(arriving))
  if (left === undefined) return undefined
  const [leaving, back] = [index.next(arriving), index.next(left)]
  if (leaving === undefined || back === undefined) return undefined
  const masks = [batch.mask(leaving), batch.mask(back)] as const
  const isBack = batch.cookie(leaving) === batch.cookie(back)
  if (!isBack || !(masks[0] & IN_MOVED_FROM) || !(masks[1] & IN_MOVED_TO)) return undefined
  if (isInterrupted(index, left, arriving, leaving)) return undefined
  // rename(2) puts no file over a directory and no directory over a file.
  const isSwap = isToEvents(displaced) !== isToEvents(came)
  if (!isSwap && !hasSwapped(index, came, displaced, leaving, back)) return undefined
  return { leaving, arriving: back, mask: masks[0] | masks[1] }
}

/**
 * Returns true if an event about a name of either directory comes between the two renames. Then they are two calls: renameat2(2) queues both
 * halves while it holds both directories locked (vfs_rename in fs/namei.c), and so do all calls that make or remove a name there.
 */
function isInterrupted({ batch }: BatchView, left: number, arriving: number, leaving: number): boolean {
  const [from, to] = [batch.wd(left), batch.wd(arriving)]
  for (let i = arriving + 1; i < leaving; i++) {
    const wd = batch.wd(i)
    if (batch.mask(i) & ABOUT_NAME && (wd === from || wd === to)) return true
  }
  return false
}

/**
 * Returns true if `came` and `displaced` have swapped names; else `came` has gone back to a free name. `leaving`: the event by which `came`
 * seemed to go, `back`: by which `came` seemed to come back.
 */
function hasSwapped(index: BatchView, came: Entry, displaced: Entry, leaving: number, back: number): boolean {
  const { batch } = index
  const next = index.next(leaving)
  const nextMask = next === undefined ? 0 : batch.mask(next)
  if (nextMask & (IN_MOVED_FROM | IN_DELETE)) return true
  if (nextMask & IN_CREATE) return false
  // If a look ahead of the events has shown the same file at both names, its inode number tells nothing.
  const mayTell = came.ino !== displaced.ino && index.next(back) === undefined
  const atOrigin = mayTell ? index.seen(back) : undefined
  if (atOrigin && atOrigin.ino !== 0 && (atOrigin.ino === came.ino || atOrigin.ino === displaced.ino)) {
    return atOrigin.ino === displaced.ino
  }
  const there = index.seen(leaving)
  const isDisplaced = (seen: Entry | null | undefined) =>
    Boolean(seen && seen.ino !== 0 && seen.ino === displaced.ino)
  if (next === undefined) {
    // The displaced entry is there again: swapped, and moved back since by events of the next batch.
    if (isDisplaced(there)) return true
    return there?.kind === came.kind && (came.ino === 0 || there.ino === came.ino)
  }
  const origin = index.seen(back)
  // Swapped, whatever came then: a replaced entry would be gone.
  if (isDisplaced(there) || isDisplaced(origin)) return true
  // Swapped back and forth.
  return Boolean(there) && Boolean(origin)
}
