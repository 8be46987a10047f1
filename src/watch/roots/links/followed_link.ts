import { CLOCK_SLACK_MS } from '../../clock.ts'
import {
  alteration,
  type Entries,
  type Entry,
  isRenumbered,
  mayBeChangedSince,
  sameFile,
} from '../../scan/entry.ts'
import { pack, unpackString } from '../../scan/packed_entries.ts'
import type { Directory } from '../../tree/directory.ts'
import type { LinkWay } from './link_way.ts'

const IS_REPLACED = 1
const IS_UNANSWERED = 2
const IS_LINK_TO_DIRECTORY = 4
const MAY_LACK_EVENTS = 8
const IS_SURVEYED = 16
const IS_SILENT = 32

/** What is so of few links at a time. */
interface Doubts {
  seenUntoldAt: number
  doubtedSince: number
}

const NO_DOUBTS: Readonly<Doubts> = { seenUntoldAt: 0, doubtedSince: Number.POSITIVE_INFINITY }

/** A symlink in a tree, and what was at its end when that was looked at last. There may be a hundred thousand: it has no more than what tells it from others. */
export class FollowedLink {
  /** Where it is: it may be renamed. */
  parent: Directory
  name: string
  /** What is watched of its way, with others that have it in common; undefined: nobody has looked. */
  way: LinkWay | undefined = undefined
  /** The name of the link by which its way was watched. */
  watchedAs = ''
  /** The last name of where it leads. */
  end = ''
  /** The watch of the file there; 0: none. */
  own = 0
  // Packed: a fifth of what it takes as objects.
  #target: string | null | undefined = undefined
  #flags = 0
  #doubts: Doubts | undefined = undefined

  constructor(parent: Directory, name: string) {
    this.parent = parent
    this.name = name
  }

  /** null: nothing; undefined: nobody has looked. */
  get target(): Entry | null | undefined {
    if (typeof this.#target !== 'string') return this.#target
    const entries: Entries = new Map()
    unpackString(this.#target, entries)
    return entries.get('')
  }

  set target(entry: Entry | null | undefined) {
    this.#target = entry ? pack([['', entry]]) : entry
  }

  /** A directory was found in place of what had been at its end: a look shows whether it is followed there, or is a link still that leads elsewhere. */
  get isReplaced(): boolean {
    return this.#has(IS_REPLACED)
  }

  set isReplaced(is: boolean) {
    this.#note(IS_REPLACED, is)
  }

  /** A server or a disk could not say what was there when it was looked at last, and that was told. */
  get isUnanswered(): boolean {
    return this.#has(IS_UNANSWERED)
  }

  set isUnanswered(is: boolean) {
    this.#note(IS_UNANSWERED, is)
  }

  /** It led to a directory, and was told as a link all the same: to where it lies, say. */
  get isLinkToDirectory(): boolean {
    return this.#has(IS_LINK_TO_DIRECTORY)
  }

  set isLinkToDirectory(is: boolean) {
    this.#note(IS_LINK_TO_DIRECTORY, is)
  }

  /** Events were lost, and nobody has compared since what is at its end: one that says little does not speak for those. */
  get mayLackEvents(): boolean {
    return this.#has(MAY_LACK_EVENTS)
  }

  set mayLackEvents(may: boolean) {
    this.#note(MAY_LACK_EVENTS, may)
  }

  /** It is known whether events tell of all that happens on its way. */
  get isSurveyed(): boolean {
    return this.#has(IS_SURVEYED)
  }

  set isSurveyed(is: boolean) {
    this.#note(IS_SURVEYED, is)
  }

  /** They do not. */
  get isSilent(): boolean {
    return this.#has(IS_SILENT)
  }

  set isSilent(is: boolean) {
    this.#note(IS_SILENT, is)
  }

  /** ms since the epoch: when it was looked at last behind an event that was told, and nothing else was told of what had changed by then. */
  get seenUntoldAt(): number {
    return (this.#doubts ?? NO_DOUBTS).seenUntoldAt
  }

  set seenUntoldAt(seenUntoldAt: number) {
    this.#doubts = { seenUntoldAt, doubtedSince: this.doubtedSince }
  }

  /**
   * ms since the epoch: what was done to its file from then on is to be told by the look that comes next. It may have been seen like that, and the event of it
   * was lost; or nobody could look when it was to be told.
   */
  get doubtedSince(): number {
    return (this.#doubts ?? NO_DOUBTS).doubtedSince
  }

  set doubtedSince(doubtedSince: number) {
    const { seenUntoldAt } = this
    const isAny = seenUntoldAt !== 0 || doubtedSince !== Number.POSITIVE_INFINITY
    this.#doubts = isAny ? { seenUntoldAt, doubtedSince } : undefined
  }

  #has(flag: number): boolean {
    return (this.#flags & flag) !== 0
  }

  #note(flag: number, is: boolean): void {
    this.#flags = is ? this.#flags | flag : this.#flags & ~flag
  }
}

/**
 * What has become of the file at a link's end.
 *
 * @param since ms since the epoch. Where no file was seen before, as of a link that is new or led to a directory, it was changed from then on, before
 *   anybody looked: by its ctime, and rather once too often
 * @param seenAt ms since the epoch: it was looked at then, or later
 */
export function alterationOfEnd(
  link: FollowedLink,
  after: Entry | null,
  since: number,
  seenAt = Number.NEGATIVE_INFINITY,
): 'modify' | 'attrib' | undefined {
  const { target: before, isLinkToDirectory, doubtedSince } = link
  // What a directory holds has names of its own.
  if (!ledToFile(link) && after?.kind === 'directory') return undefined
  if (isLinkToDirectory && after !== null) return 'modify'
  if (before === undefined || before?.kind === 'directory')
    return changedSince(after, Math.min(since, doubtedSince))
  if (before === null || after === null) return before === after ? undefined : 'modify'
  if (isRenumbered(before, after, Math.min(seenAt, doubtedSince) - CLOCK_SLACK_MS)) return undefined
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
  const isInDoubt = entry?.stat !== undefined && mayBeChangedSince(entry.stat, since - CLOCK_SLACK_MS)
  return isInDoubt ? 'modify' : undefined
}
