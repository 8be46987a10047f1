import { CLOCK_SLACK_MS } from '../../clock.ts'
import { alteration, type Entry, sameFile } from '../../scan/entry.ts'
import type { Directory } from '../../tree/directory.ts'

/** A symlink in a tree, and what was at its end when that was looked at last. */
export interface FollowedLink {
  /** Where it is: it may be renamed. */
  parent: Directory
  name: string
  /** null: nothing; undefined: nobody has looked. */
  target: Entry | null | undefined
  /** A directory was found in place of what had been at its end: a look shows whether it is followed there, or is a link still that leads elsewhere. */
  isReplaced: boolean
  /** A server or a disk could not say what was there when it was looked at last, and that was told. */
  isUnanswered: boolean
  /** It led to a directory, and was told as a link all the same: to where it lies, say. */
  isLinkToDirectory: boolean
  /** Events were lost, and nobody has compared since what is at its end: one that says little does not speak for those. */
  mayLackEvents: boolean
  /** ms since the epoch: when it was looked at last behind an event that was told, and nothing else was told of what had changed by then. */
  seenUntoldAt: number
  /**
   * ms since the epoch: what was done to its file from then on is to be told by the look that comes next. It may have been seen like that, and the event of it
   * was lost; or nobody could look when it was to be told.
   */
  doubtedSince: number
}

export function followedLink(parent: Directory, name: string): FollowedLink {
  return {
    parent,
    name,
    target: undefined,
    isReplaced: false,
    isUnanswered: false,
    isLinkToDirectory: false,
    mayLackEvents: false,
    seenUntoldAt: 0,
    doubtedSince: Number.POSITIVE_INFINITY,
  }
}

/**
 * What has become of the file at a link's end.
 *
 * @param since ms since the epoch. Where no file was seen before, as of a link that is new or led to a directory, it was changed from then on, before
 *   anybody looked: by its ctime, and rather once too often
 */
export function alterationOfEnd(
  link: FollowedLink,
  after: Entry | null,
  since: number,
): 'modify' | 'attrib' | undefined {
  const { target: before, isLinkToDirectory, doubtedSince } = link
  // What a directory holds has names of its own.
  if (!ledToFile(link) && after?.kind === 'directory') return undefined
  if (isLinkToDirectory && after !== null) return 'modify'
  if (before === undefined || before?.kind === 'directory')
    return changedSince(after, Math.min(since, doubtedSince))
  if (before === null || after === null) return before === after ? undefined : 'modify'
  const altered = alteration(before, after, 0)
  if (altered === 'replace' || altered === 'modify') return 'modify'
  // One whose mode is another may have been written as well.
  return changedSince(after, doubtedSince) ?? altered
}

/** Whether a file was at its end when that was looked at last. */
export function ledToFile({ target }: FollowedLink): boolean {
  return target != null && target.kind !== 'directory'
}

/** Whether it is the file that was seen before. Another may have its inode number. */
export function isSameEnd({ target: before }: FollowedLink, after: Entry | null): boolean {
  if (before == null || after === null) return false
  return sameFile(before, after) && before.stat?.btimeMs === after.stat?.btimeMs
}

function changedSince(entry: Entry | null, since: number): 'modify' | undefined {
  return entry?.stat !== undefined && entry.stat.ctimeMs >= since - CLOCK_SLACK_MS ? 'modify' : undefined
}
