import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
} from 'node:fs'
import type { Kind } from '../../../../src/index.ts'
import type { Belief } from '../../applied_alone.ts'

const MOST_LINKS = 3

/** An entry in the file system. */
export interface Seen {
  kind: Kind
  /** The kind of the file that a followed link leads to, if that is no directory. */
  leadsTo?: Kind
  /** A file's bytes as latin1, a link's target, or ''. */
  content: string
  ino: bigint
  nlink: bigint
  ctime: bigint
  mtime: bigint
}

/** A tree in the file system: absolute paths, parents first. */
export type Snapshot = Map<string, Seen>

export interface SnapshotOptions {
  /** latin1: names are kept by their bytes. */
  names?: 'utf8' | 'latin1'
  /**
   * Takes a link to a directory for that directory. Exceptions: the link lies in the directory, the directory
   * is above the root, or three links were followed on the way.
   */
  followSymlinks?: boolean
  ignores?: (path: string, kind: Kind) => boolean
}

/** A directory that is being read. */
interface Level {
  path: string
  fd: number
  identity: string
  names: string[]
  /** The number of links that were followed on the way. */
  links: number
}

/**
 * Reads a tree that no process changes. Goes by descriptors and without recursion, because the tree may be
 * deeper than a path can be long.
 */
export function snapshot(root: string, options: SnapshotOptions = {}): Snapshot {
  const { names = 'utf8', followSymlinks = false, ignores = () => false } = options
  const found: Snapshot = new Map()
  const bytes = (path: string) => (names === 'utf8' ? path : Buffer.from(path, names))
  const levels: Level[] = []
  const above = followSymlinks ? identitiesAbove(root) : new Set<string | undefined>()
  const enter = (path: string, at: string, links: number) => {
    const fd = openSync(bytes(at), constants.O_RDONLY | constants.O_DIRECTORY)
    const identity = identityOf(fstatSync(fd, { bigint: true }))
    levels.push({ path, fd, identity, names: readdirSync(`/proc/self/fd/${fd}`, names as 'utf8'), links })
  }
  enter(root, root, 0)
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const name = level.names.pop()
    if (name === undefined) {
      closeSync(level.fd)
      levels.pop()
      continue
    }
    const [path, place] = [`${level.path}/${name}`, `/proc/self/fd/${level.fd}/${name}`]
    const stats = lstatSync(bytes(place), { bigint: true })
    const target = followSymlinks && stats.isSymbolicLink() ? targetOf(bytes(place)) : undefined
    const end = target && identityOf(target)
    const isCircle = above.has(end) || levels.some(({ identity }) => identity === end)
    const links = target === undefined ? level.links : level.links + 1
    const isEnd = isCircle || links > MOST_LINKS
    const seen = look(target?.isDirectory() && !isEnd ? target : stats, bytes(place))
    if (ignores(path, seen.kind)) continue
    found.set(path, target === undefined || target.isDirectory() ? seen : behindLink(seen, target))
    if (seen.kind === 'directory') enter(path, place, links)
  }
  return found
}

/** Reads roots that are files. Leaves out missing ones. */
export function snapshotOfFiles(roots: readonly string[]): Snapshot {
  const found: Snapshot = new Map()
  for (const root of roots) {
    const stats = targetOf(root)
    if (stats !== undefined && !stats.isDirectory()) found.set(root, look(stats, root))
  }
  return found
}

/** Returns the directories above a root, up to `/`, whose `..` is itself. */
function identitiesAbove(root: string): Set<string | undefined> {
  const found = new Set<string>()
  for (let path = `${root}/..`; ; path += '/..') {
    const identity = identityOf(statSync(path, { bigint: true }))
    if (found.has(identity)) return found
    found.add(identity)
  }
}

const identityOf = ({ dev, ino }: BigIntStats) => `${dev}:${ino}`

/** Returns undefined for a path that leads nowhere or round in a circle. */
function targetOf(path: string | Buffer): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true })
  } catch {
    return undefined
  }
}

function kindOf(stats: BigIntStats): Kind {
  if (stats.isDirectory()) return 'directory'
  if (stats.isSymbolicLink()) return 'symlink'
  return stats.isFile() ? 'file' : 'other'
}

function look(stats: BigIntStats, path: string | Buffer): Seen {
  const kind = kindOf(stats)
  const content =
    kind === 'symlink'
      ? readlinkSync(path)
      : kind === 'file' && stats.size > 0n
        ? readFileSync(path, 'latin1')
        : ''
  const { ino, nlink, ctimeNs: ctime, mtimeNs: mtime } = stats
  return { kind, content, ino, nlink, ctime, mtime }
}

/** A write to the target of a link counts as one to the link. */
function behindLink(seen: Seen, target: BigIntStats): Seen {
  return { ...seen, ino: target.ino, leadsTo: kindOf(target) }
}

/** A path at which the consumer and the file system differ. */
export interface Divergence {
  path: string
  what: string
}

/** The writers' account of files, by inode number. */
export interface Written {
  /** Files that have or had two names: the watcher tells a write by one name under that name alone. */
  linked?: ReadonlySet<bigint>
  /** The last write of each file, in ms of Date.now(), taken before the write. */
  at?: ReadonlyMap<bigint, number>
}

// Date.now() has no fractions of a ms.
const TICK_MS = 1

/**
 * Compares a consumer with the file system: lists differences of names and kinds, files with another content
 * than before, and written files without a change since.
 */
export function divergences(
  believed: ReadonlyMap<string, Belief>,
  real: Snapshot,
  { linked = new Set(), at = new Map() }: Written = {},
): Divergence[] {
  const found: Divergence[] = []
  for (const [path, { kind }] of believed) {
    if (!real.has(path)) found.push({ path, what: `a ghost: believed to be a ${kind}` })
  }
  for (const [path, seen] of real) {
    const what = differenceOf(believed.get(path), seen, linked.has(seen.ino), at.get(seen.ino) ?? 0)
    if (what !== undefined) found.push({ path, what })
  }
  return found
}

function differenceOf(
  belief: Belief | undefined,
  { kind, leadsTo, content }: Seen,
  isLinked: boolean,
  written: number,
): string | undefined {
  if (belief === undefined) return `missed: it is a ${kind}`
  if (belief.kind !== kind && belief.kind !== leadsTo)
    return `believed to be a ${belief.kind}, and is a ${kind}`
  if (isLinked || (kind !== 'file' && kind !== 'symlink')) return undefined
  if (belief.held !== undefined && belief.held !== content)
    return `not named: it held ${quote(belief.held)}, and holds ${quote(content)}`
  const late = written - belief.told
  return late > TICK_MS ? `not told since: written ${late.toFixed(1)} ms after it was last told` : undefined
}

const quote = (content: string) =>
  JSON.stringify(content.length > 60 ? `${content.slice(0, 60)}...` : content)

/** Returns the argument of {@link AppliedAlone.adopt}. */
export function contentsOf(real: Snapshot): Array<[path: string, kind: Kind, held: string]> {
  return [...real].map(([path, { kind, content }]) => [path, kind, content])
}
