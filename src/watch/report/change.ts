import { IN_CLOSE_WRITE } from '../../inotify/constants.ts'
import { pathOf, textOf } from '../../name_key.ts'

/** The kind of an entry. Symlinks are not followed: a link is a `'symlink'`; with `followSymlinks` a link to a directory is a `'directory'`. */
export type Kind = 'file' | 'directory' | 'symlink' | 'other'

/** An entry of the tree as reported so far: see {@link Watcher.entries}. */
export interface Entry<Path extends string | Buffer = string> {
  /** The absolute path. */
  path: Path
  /** The kind of the entry. */
  kind: Kind
}

/**
 * The source of a change: an event, the comparison of two polls, a comparison after events were lost (or of a name in doubt, or `initial`), or the comparison with a snapshot
 * (`since`).
 */
export type Source = 'inotify' | 'poll' | 'rescan' | 'snapshot'

/** The process that made a change: see the option `by` of {@link WatchOptions}. */
export interface ChangeMaker {
  /** The number of the process, in the pid namespace of this one. */
  pid: number
  /** The name of the process (/proc/PID/comm); absent if it had ended before anybody looked. */
  comm?: string
}

/**
 * A change of one entry. Paths are strings (bytes that are no UTF-8 become U+FFFD) or, with `encoding: 'buffer'`, Buffers of the exact bytes.
 *
 * - `create`: the name is there and was not, or came from outside of the watched tree. With `recursive`, a directory is followed by one for each entry in it.
 * - `modify`: the file was written, or replaced by a file from outside. `mask & IN_CLOSE_WRITE`: a writer has closed it.
 * - `attrib`: mode, owner or link count changed; with inotify also times and extended attributes.
 * - `delete`: the name is gone, or left the watched tree. A directory's speaks for everything below it.
 */
export interface EntryChange<Path extends string | Buffer = string> {
  /** The change, as above. */
  type: 'create' | 'modify' | 'attrib' | 'delete'
  /** The absolute path. */
  path: Path
  /** The kind of the entry. */
  kind: Kind
  /** The raw inotify mask, joined by OR where neighbours were merged; 0 if the source is not inotify. */
  mask: number
  /** The source of the change. */
  source: Source
  /** With the option `by`: the process that made the change, where that is known. */
  by?: ChangeMaker
}

/** A rename, of a file or of a directory with everything below it. Renaming a to b to c is two of these. */
export interface RenameChange<Path extends string | Buffer = string> {
  type: 'rename'
  /** The absolute path that is gone. */
  from: Path
  /** The absolute path that the entry has now. */
  path: Path
  /** `true`: another entry was at `path` before and is gone. `false`: nothing was there. */
  replaced: boolean
  /** The kind of the entry. */
  kind: Kind
  /** The raw inotify mask; 0 if the source is not inotify. */
  mask: number
  source: Source
  by?: ChangeMaker
}

/**
 * Two entries that changed places, each with everything below it (renameat2(2), RENAME_EXCHANGE). Polls and rescans report a circle of n as n - 1 of these.
 */
export interface ExchangeChange<Path extends string | Buffer = string> {
  type: 'exchange'
  /** The absolute path of the one entry. */
  path: Path
  /** The absolute path of the other entry. */
  other: Path
  /** The kind of the entry that is now at `path`. */
  kind: Kind
  /** The kind of the entry that is now at `other`. */
  otherKind: Kind
  /** The raw inotify mask; 0 if the source is not inotify. */
  mask: number
  source: Source
  by?: ChangeMaker
}

/**
 * The reason why a root is lost: it was `'deleted'`; `'renamed'` (a poll, and the rename of an ancestor, say `'deleted'`); its filesystem was `'unmounted'`; it was
 * `'replaced'` by something else at its path; it is a single-file mount whose source has gone (`'stale'`); or it is `'unreadable'`: no permission, a server or a disk that
 * fails, no watch left.
 */
export type LostReason = 'deleted' | 'renamed' | 'unmounted' | 'replaced' | 'stale' | 'unreadable'

/**
 * A change of a root as a whole.
 *
 * - `overflow`: events were lost. The difference follows with source `'rescan'`, then `recovered`.
 * - `lost`: the root is gone; nothing is reported of it until it is `restored`. `kind` is the kind it had. A root that has never been there is not `lost`.
 * - `restored`: the root is there, again or for the first time. The difference from before follows.
 */
export type RootChange<Path extends string | Buffer = string> =
  | { type: 'overflow' | 'recovered'; path: Path; source: Source }
  | { type: 'lost'; path: Path; kind: Kind; reason: LostReason; source: Source; by?: ChangeMaker }
  | { type: 'restored'; path: Path; kind: Kind; source: Source }

/** Any change. Each can be applied alone, in its order, to a plain map of paths: docs/semantics.md, S11 and S12. */
export type Change<Path extends string | Buffer = string> =
  | EntryChange<Path>
  | RenameChange<Path>
  | ExchangeChange<Path>
  | RootChange<Path>

/** Returns true if all that is told is that a writer closed the file. Its writes have been told before, but for those by AIO and mmap(2), which make no event. For callers that tell only what has changed. */
export const isClose = (change: Change<string | Buffer>): boolean =>
  change.type === 'modify' && change.mask === IN_CLOSE_WRITE

/** Returns the paths that a change is about: of a rename and of an exchange two. */
export function pathsOf<Path extends string | Buffer>(change: Change<Path>): Path[] {
  if (change.type === 'rename') return [change.path, change.from]
  return change.type === 'exchange' ? [change.path, change.other] : [change.path]
}

/** Adds a change to a list; a neighbour of the same type and path takes its mask in instead (the writer's many writes). */
export function append(changes: Change[], change: Change): void {
  const last = changes.at(-1)
  const mergeable = change.type === 'modify' || change.type === 'attrib'
  if (mergeable && last?.type === change.type && last.path === change.path) absorb(last, change)
  else changes.push(change)
}

/** Takes the mask of a later change of the same entry in, and who made it. */
export function absorb(into: EntryChange, { mask, by }: EntryChange): void {
  into.mask |= mask
  if (by !== undefined) into.by = by
}

/**
 * Returns the exchanges of a circle: the entry of each path is now at the next path, and that of the last at the first. There is one exchange less than there are paths.
 *
 * @param kinds the kind of the entry that was at each
 */
export function exchangesOf(
  paths: readonly string[],
  kinds: readonly Kind[],
  mask: number,
  source: Source,
): ExchangeChange[] {
  // A circle begins nowhere of itself: it is told from the least of its paths on, so that it is told alike each time.
  const start = paths.reduce((least, path, i) => (path < (paths[least] as string) ? i : least), 0)
  const at = <T>(all: readonly T[], i: number) => all[(start + i) % all.length] as T
  const otherKind = at(kinds, kinds.length - 1)
  const changes: ExchangeChange[] = []
  // The last entry changes places with each one before it, and is where it belongs in the end.
  for (let i = paths.length - 1; i > 0; i--) {
    const [path, other, kind] = [at(paths, i), at(paths, i - 1), at(kinds, i - 1)]
    changes.push({ type: 'exchange', path, other, kind, otherKind, mask, source })
  }
  return changes
}

/** Returns the function that turns a path as a key (see name_key.ts) into a path as it is reported. The encoding decides `Path`: see {@link WatchOptions}. */
export function pathEncoderOf<Path extends string | Buffer>(
  encoding: 'utf8' | 'buffer',
): (path: string) => Path {
  // Other bytes than UTF-8 become U+FFFD as text.
  return (encoding === 'buffer' ? bytesOf : textOf) as unknown as (path: string) => Path
}

/** Turns changes whose paths are keys into changes as they are reported, in place. */
export function encodePaths<Path extends string | Buffer>(
  changes: Change[],
  encode: (path: string) => Path,
): Array<Change<Path>> {
  for (const change of changes as Array<Change<string | Path>>) {
    change.path = encode(change.path as string)
    if (change.type === 'rename') change.from = encode(change.from as string)
    else if (change.type === 'exchange') change.other = encode(change.other as string)
  }
  return changes as unknown as Array<Change<Path>>
}

function bytesOf(keys: string): Buffer {
  const path = pathOf(keys)
  return typeof path === 'string' ? Buffer.from(path) : path
}
