import { basename, dirname, join } from 'node:path'
import { IN_ATTRIB, IN_CLOSE_WRITE, IN_MODIFY } from '../../../inotify/constants.ts'
import { alterationOfFile, type Entry, mayBeWrittenSince } from '../../scan/entry.ts'
import { pack, unpackString } from '../../scan/packed_entries.ts'
import { type Directory, isSymlink } from '../../tree/directory.ts'
import type { Tree } from '../../tree/tree.ts'
import { ITSELF, type WatchedName } from '../path_watches.ts'
import { keyOf, turnsOf, type WatchedWay, type Way } from '../ways.ts'

/** The events of the file at a link's end. */
export const OF_FILE = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB
const WRITTEN = IN_MODIFY | IN_CLOSE_WRITE

/** A symlink in a tree, and what was at its end at the last look. There may be a hundred thousand. */
export class FollowedLink {
  /** The directory that the link is in. A rename changes this, and `name`. */
  parent: Directory
  name: string
  /** The hops that are shared with other links; undefined: nobody has looked. */
  hops: LinkHops | undefined = undefined
  /** The name under which the link was watched last. */
  watchedAs = ''
  /** The last name of where the link leads. */
  end = ''
  /** The watch of the file there; 0: none. */
  own = 0
  /** The masks of events of the file that are not reported yet. */
  hint = 0
  /** ms since the epoch: changes to the file from then on are reported by the next look. Their events were lost, or nobody could look. undefined: none. */
  doubtedSince: number | undefined = undefined
  /** A directory was found in place of a file. The next look shows whether the link is followed there. */
  isReplaced = false
  /** A server or a disk could not say what is at the end, and that was reported. */
  isUnanswered = false
  /** The link leads to a directory, and is not followed: to a parent directory, say. */
  isLinkToDirectory = false
  /** Tells if some changes of the hops or of the end make no event; undefined: nobody has asked the mounts. */
  isSilent: boolean | undefined = undefined
  // Packed: a fifth of the memory of objects.
  #target: string | null | undefined = undefined

  constructor(parent: Directory, name: string) {
    this.parent = parent
    this.name = name
  }

  /** The real path of the end, as the last look has found; undefined: that is to be found out. */
  get realPath(): string | undefined {
    return this.isSilent === undefined || this.hops === undefined
      ? undefined
      : join(this.hops.directory, this.end)
  }

  /** null: nothing; undefined: nobody has looked. */
  get target(): Entry | null | undefined {
    if (typeof this.#target !== 'string') return this.#target
    return unpackString(this.#target).get('')
  }

  set target(entry: Entry | null | undefined) {
    this.#target = entry ? pack([['', entry]]) : entry
  }
}

/**
 * The hops that links share which lie in one directory and lead into another. Links, of which there may be a hundred thousand, keep no list of their watches: the
 * names of their own follow from the watches of the two directories.
 */
export class LinkHops {
  readonly key: string
  /** The directory of the ends, without symlinks. */
  readonly directory: string
  /** The symlinks on the way, and what the way leaves again; of the links themselves the directory. */
  readonly turns: readonly string[]
  /** False: polls look at the links instead. */
  readonly isWatched: boolean
  /** The watched names, but for those of links and of their ends. */
  readonly shared: readonly WatchedName[]
  readonly links = new Set<FollowedLink>()
  readonly #starts: readonly number[]
  readonly #ends: readonly number[]

  /** @param along undefined: nothing is watched */
  constructor(way: Way, along: WatchedWay | undefined) {
    const { watched, refused } = along ?? UNWATCHED
    const own = ownLinkOf(way)
    const isStart = (path: string) => path === way.path || path === own
    const isEnd = (path: string) => path === way.realPath
    const wdsAt = (is: (path: string) => boolean) => [
      ...new Set(watched.filter(({ path }) => is(path)).map(({ wd }) => wd)),
    ]
    this.directory = dirname(way.realPath)
    this.turns = turnsOf(way).map((turn) => (turn === own ? dirname(own) : turn))
    this.isWatched = along !== undefined
    this.shared = watched.filter(({ path }) => !isStart(path) && !isEnd(path))
    this.#starts = wdsAt(isStart)
    this.#ends = wdsAt(isEnd)
    const watches = [this.isWatched, refused === undefined, this.#starts, this.#ends, keyOf(this.shared)]
    this.key = [...watches, this.directory, ...this.turns].join('\0')
  }

  /** Returns the names that concern a link alone, and its own watch. */
  namesOf({ watchedAs, end, own }: FollowedLink): WatchedName[] {
    return [
      ...this.#starts.map((wd) => ({ wd, name: watchedAs })),
      ...this.#ends.map((wd) => ({ wd, name: end })),
      ...(own > 0 ? [{ wd: own, name: ITSELF }] : []),
    ]
  }
}

/** A file that is mounted over a name in a directory of the tree. It is followed as if the name were a symlink to it. */
export class MountedFile extends FollowedLink {}

const UNWATCHED: WatchedWay = { watched: [], refused: undefined }

/** Returns the real path of the link itself: the first symlink of its name, of which there may be others on the way. */
function ownLinkOf({ path, links }: Way): string | undefined {
  const name = basename(path)
  return links.find((link) => basename(link.path) === name)?.path
}

/**
 * Returns what has become of the file at a link's end, by its events and by a look.
 *
 * @param since ms since the epoch: where no file was seen before, as of a link that is new or led to a directory, later changes count, by ctime. In doubt
 *   one `modify` too many is reported
 * @param seenAt ms since the epoch: the last look was made then, or later
 */
export function alterationOfEnd(
  link: FollowedLink,
  after: Entry | null,
  since: number,
  seenAt: number,
): 'modify' | 'attrib' | undefined {
  const found = differenceOf(link, after, since, seenAt)
  if (link.hint & WRITTEN) return 'modify'
  return found ?? (link.hint & IN_ATTRIB ? 'attrib' : undefined)
}

function differenceOf(
  link: FollowedLink,
  after: Entry | null,
  since: number,
  seenAt: number,
): 'modify' | 'attrib' | undefined {
  const { target: before, isLinkToDirectory, doubtedSince = Number.POSITIVE_INFINITY } = link
  // Entries of a directory are reported under names of their own.
  if (!ledToFile(link) && after?.kind === 'directory') return undefined
  if (isLinkToDirectory && after !== null) return 'modify'
  if (before === undefined || before?.kind === 'directory')
    return after !== null && mayBeWrittenSince(after, Math.min(since, doubtedSince)) ? 'modify' : undefined
  if (before === null || after === null) return before === after ? undefined : 'modify'
  return alterationOfFile(before, after, seenAt, doubtedSince)
}

/**
 * Returns what is believed to be at the name of a link: a symlink that leads to no directory, or the directory; of a {@link MountedFile} the file. undefined: the
 * link is gone.
 */
export function believedAt(tree: Tree, link: Pick<FollowedLink, 'parent' | 'name'>): Entry | undefined {
  const { parent, name } = link
  const entry = tree.isAttached(parent) ? tree.entriesOf(parent).get(name) : undefined
  return entry !== undefined && (isSymlink(entry) || link instanceof MountedFile) ? entry : undefined
}

/** Tells if the last look found a file at the end. */
export function ledToFile({ target }: FollowedLink): boolean {
  return target != null && target.kind !== 'directory'
}
