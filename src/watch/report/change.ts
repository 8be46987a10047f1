import type { Stat } from './stat.ts'

/** What a name stands for. Symlinks are not followed: a link is a 'symlink', whatever it points to. */
export type Kind = 'file' | 'directory' | 'symlink' | 'other'

/** How a change came to be known: by an event, by comparing two polls, by comparing after events were lost, or by comparing with what was saved. */
export type Source = 'inotify' | 'poll' | 'rescan' | 'snapshot'

/**
 * What happened to a path. Paths are strings (UTF-8; what is none is U+FFFD) or, with `encoding: 'buffer'`, Buffers of the exact bytes.
 */
export interface EntryChange<Path extends string | Buffer = string> {
  type: 'create' | 'modify' | 'attrib' | 'delete'
  /** Absolute. */
  path: Path
  kind: Kind
  /** The raw mask, joined by OR where neighbours were merged; 0 if not from inotify. */
  mask: number
  source: Source
  /** With `stat: true`, but for a 'delete': of what is at `path`, as it was looked at behind the change. Absent where it was gone by then, or nobody could look. */
  stat?: Stat
}

/**
 * A rename: `from` is gone and `path` is what it was. `replaced`: something else was at `path` before and is gone; nothing was there if it
 * is false.
 */
export interface RenameChange<Path extends string | Buffer = string> {
  type: 'rename'
  from: Path
  path: Path
  replaced: boolean
  kind: Kind
  mask: number
  source: Source
  /** As that of an {@link EntryChange}. */
  stat?: Stat
}

/**
 * Two entries changed places, each with all below it (renameat2(2), RENAME_EXCHANGE). A circle of n, which polls and rescans find, is n - 1 of
 * these.
 */
export interface ExchangeChange<Path extends string | Buffer = string> {
  type: 'exchange'
  path: Path
  other: Path
  /** Of what is now at `path`. */
  kind: Kind
  /** Of what is now at `other`. */
  otherKind: Kind
  mask: number
  source: Source
  /** Of what is now at `path`; as that of an {@link EntryChange}. */
  stat?: Stat
  /** Of what is now at `other`. */
  otherStat?: Stat
}

/**
 * Why a root is lost: it was deleted, or renamed (by anyone who has told of it so: a poll sees it go, and says 'deleted'), what it lies on was unmounted, something else
 * is at its path, it is a single-file mount whose source has gone ('stale'), or nobody can look any more ('unreadable': no permission, a server or a disk that
 * fails, no watch left).
 */
export type LostReason = 'deleted' | 'renamed' | 'unmounted' | 'replaced' | 'stale' | 'unreadable'

/**
 * About a root. 'overflow': events were lost, the differences follow with source 'rescan', then 'recovered'. 'lost': nothing is told of it, until it is 'restored': it
 * is there (again), and what differs from before follows. `kind` is what the root was when it was lost, and what it is now.
 */
export type RootChange<Path extends string | Buffer = string> =
  | { type: 'overflow' | 'recovered'; path: Path; source: Source }
  | { type: 'lost'; path: Path; kind: Kind; reason: LostReason; source: Source }
  | { type: 'restored'; path: Path; kind: Kind; source: Source }

export type Change<Path extends string | Buffer = string> =
  | EntryChange<Path>
  | RenameChange<Path>
  | ExchangeChange<Path>
  | RootChange<Path>

/** Adds a change to a list; a neighbour of the same type and path takes its mask in instead (the writer's many writes). */
export function append(changes: Change[], change: Change): void {
  const last = changes.at(-1)
  const mergeable = change.type === 'modify' || change.type === 'attrib'
  if (mergeable && last?.type === change.type && last.path === change.path) last.mask |= change.mask
  else changes.push(change)
}

/**
 * What was at each of these paths is at the next by now, and what was at the last at the first: that is one exchange less than there are paths.
 *
 * @param kinds of what was at each
 */
export function exchangesOf(
  paths: readonly string[],
  kinds: readonly Kind[],
  source: Source,
): ExchangeChange[] {
  // Where a circle begins is nobody's to say: at the least of its paths, so that it is told alike each time.
  const start = paths.reduce((least, path, i) => (path < (paths[least] as string) ? i : least), 0)
  const at = <T>(all: readonly T[], i: number) => all[(start + i) % all.length] as T
  const otherKind = at(kinds, kinds.length - 1)
  const changes: ExchangeChange[] = []
  // What was last changes places with each before it, and is where it belongs in the end.
  for (let i = paths.length - 1; i > 0; i--) {
    const [path, other, kind] = [at(paths, i), at(paths, i - 1), at(kinds, i - 1)]
    changes.push({ type: 'exchange', path, other, kind, otherKind, mask: 0, source })
  }
  return changes
}
