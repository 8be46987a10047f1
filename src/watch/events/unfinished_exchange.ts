import { IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO } from '../../inotify/constants.ts'
import type { BatchView } from './batch_view.ts'
import { ABOUT_NAME, GONE } from './watch_mask.ts'

// At most two of an exchange's four events follow the first if the last has not been read.
const MOST_FOLLOWING = 2

/** Answers about a name: by a look after the read, and by the tree before the name's events are translated. */
export interface Known {
  /** False: a look has found nothing at the name of this event. */
  mayBeThere(i: number): boolean
  isBelieved(wd: number, name: string): boolean
}

/**
 * Finds an exchange that the next read may complete. A read may end between any two of its four events, which renameat2(2) queues while
 * both directories are locked (see findExchange): so they are the last events about names of the two. A rename that has left its old name empty is no
 * exchange, whatever it has landed on: a save by a rename over the file is not kept waiting.
 *
 * @returns the number of its first event; undefined: there is none
 */
export function findUnfinishedExchange(index: BatchView, known: Known): number | undefined {
  const { batch } = index
  // By wd: the numbers of the events about the directory's names that come after the current event.
  const following = new Map<number, number[]>()
  let first: number | undefined
  for (let i = index.end - 1; i >= index.start; i--) {
    const mask = batch.mask(i)
    if (!(mask & (ABOUT_NAME | GONE))) continue
    const wd = batch.wd(i)
    const later = following.get(wd) ?? []
    if (later.length > MOST_FOLLOWING) continue
    if (mask & IN_MOVED_FROM && isBeginning(index, i, following, known)) first = i
    following.set(wd, [...later, i])
  }
  return first
}

function isBeginning(
  index: BatchView,
  left: number,
  following: ReadonlyMap<number, readonly number[]>,
  known: Known,
): boolean {
  const { batch } = index
  const arriving = index.arrival(batch.cookie(left))
  const leaving = arriving === undefined ? undefined : index.next(arriving)
  const expected = [arriving, leaving].filter((i) => i !== undefined)
  const directories = new Set([left, ...expected].map((i) => batch.wd(i)))
  const later = [...directories].flatMap((wd) => following.get(wd) ?? [])
  if (later.length !== expected.length || !expected.every((i) => later.includes(i))) return false
  if (leaving !== undefined && !(batch.mask(leaving) & IN_MOVED_FROM)) return false
  if (!known.mayBeThere(left)) return false
  // The next read has its arrival.
  if (arriving === undefined) return true
  return mayBeTaken(index, arriving, known) && !isWayBack(index, left, arriving)
}

/** Returns true if there may have been an entry at the name at which a rename arrives. */
function mayBeTaken(index: BatchView, arriving: number, known: Known): boolean {
  const before = previous(index, arriving)
  if (before === undefined) return known.isBelieved(index.batch.wd(arriving), index.name(arriving))
  return (index.batch.mask(before) & IN_DELETE) === 0
}

/** Returns true if a rename is the second half of an exchange: it goes back to where the rename before came from, itself no second half. */
function isWayBack(index: BatchView, left: number, arriving: number): boolean {
  const { batch } = index
  let isBack = false
  for (let [from, to] = [left, arriving]; ; isBack = !isBack) {
    const [came, went] = [previous(index, from), previous(index, to)]
    if (came === undefined || went === undefined) return isBack
    const isReverse = batch.mask(came) & IN_MOVED_TO && batch.mask(went) & IN_MOVED_FROM
    if (!isReverse || batch.cookie(came) !== batch.cookie(went)) return isBack
    from = went
    to = came
  }
}

/** Returns the last event before this one about the same name. undefined: none. */
function previous(index: BatchView, i: number): number | undefined {
  for (let before = i - 1; before >= index.start; before--) if (index.next(before) === i) return before
  return undefined
}
