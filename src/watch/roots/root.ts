import { constants } from 'node:os'
import { IN_DELETE_SELF, IN_MOVE_SELF, IN_UNMOUNT } from '../../inotify/constants.ts'
import type { Kind, LostReason, RootChange, Source } from '../report/change.ts'
import { asWatchError, openError } from '../report/watch_error.ts'
import type { RootFinding } from '../scan/listing.ts'
import type { Directory, WatchedMount } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { FileRoot } from './file_root.ts'
import type { WatchedName } from './path_watches.ts'
import type { Way } from './ways.ts'

const NONE: ReadonlySet<WatchedMount> = new Set()

/** A file as it was when watch() was called. */
export interface SeenBefore {
  kind: Kind
  /** The file's watch: events tell the changes since. */
  wd: number
}

/** A watched path: what is there, and whether anything is. */
export class Root {
  /** Absolute. */
  readonly path: string
  // forest/ sets these: the tree, if the root has its own. Attacher sets the mount as well, before there is a tree.
  /** The beliefs about the directory at this path. They stay while it is lost, to compare with what is there when it is restored. */
  top: Directory | undefined
  /** The root in whose tree this lies: that root tells of everything in there, and this root's top is a directory of that tree. See RootForest. */
  coverer: Root | undefined
  /** The root's own mount, while it tells of anything itself. */
  mount: WatchedMount | undefined
  // Attacher alone sets these: the end of the path.
  /** The file, where the path leads to no directory. */
  file: FileRoot | undefined
  /** The file at the path when watch() was called, until the first look at it. RootSet sets this. */
  before: SeenBefore | undefined
  /** The identity of the directory, whatever its path. */
  identity = ''
  /** The way of the path when it was resolved last; the hops were watched then, if they could be. */
  way: Way | undefined
  /** The watched hops: {@link RootPaths} sets them. */
  watched: readonly WatchedName[] = []
  /** True: nothing is there, and events tell when something comes. {@link Attacher} sets this. */
  isAwaited = false
  /** False from 'lost' to 'restored', before it has come for the first time, and after it was removed: see {@link appear} and {@link vanish}. */
  isPresent = false
  /** True from 'overflow' to 'recovered'. */
  isOverflown = false
  /** ms since the epoch: if the root is lost, changes from then on have not been told. */
  consistentUntil = 0
  /** The reason why it is not there. */
  absence: Error | undefined

  constructor(path: string) {
    this.path = path
  }

  /** The path without symlinks, as in the mount table. */
  get realPath(): string {
    return this.way?.realPath ?? this.path
  }

  /** The kind of the entry, or of the entry that was lost. */
  get kind(): Kind {
    return this.file?.kind ?? 'directory'
  }

  /** Notes that the root is there, for the first time or again. */
  appear(): void {
    this.isPresent = true
    this.isAwaited = false
    this.absence = undefined
  }

  /** Notes that the root is gone, or not watched any more: that ends an overflow, too. */
  vanish(consistentUntil = this.consistentUntil): void {
    this.isPresent = false
    this.isOverflown = false
    this.consistentUntil = consistentUntil
  }

  /** The root's own mount, and those below it. */
  get mounts(): ReadonlySet<WatchedMount> {
    return this.mount?.family ?? NONE
  }

  /** Marks everything that was listed of the root before as out of date. */
  outdate(): void {
    for (const mount of this.mounts) mount.epoch++
  }

  /** Returns true if a look has found the directory that this root is. */
  is({ identity }: Pick<RootFinding, 'identity'>): boolean {
    if (this.mount?.numbersPass === true) return withoutNumber(identity) === withoutNumber(this.identity)
    return identity === this.identity
  }

  /** Forgets the mounts whose mount points or links are gone. */
  dropMounts(tree: Tree): void {
    for (const mount of this.mounts) {
      const { base } = mount
      if (base !== undefined && !tree.isAttached(base)) mount.leave()
    }
  }
}

/** Returns true if the root is not there, and no event will tell when it comes. */
export function isSought({ isPresent, isAwaited }: Root): boolean {
  return !isPresent && !isAwaited
}

function withoutNumber(identity: string): string {
  return identity.slice(0, identity.lastIndexOf(' '))
}

/** Returns the reason for a root at whose path there is nothing. */
export function absenceOf({ path }: Root): Error {
  return asWatchError(openError(-constants.errno.ENOENT, path), path) as Error
}

export function aboutRoot(type: 'overflow' | 'recovered', { path }: Root, source: Source): RootChange {
  return { type, path, source }
}

export function asLost(
  { path, kind }: Pick<Root, 'path' | 'kind'>,
  reason: LostReason,
  source: Source,
): RootChange {
  return { type: 'lost', path, kind, reason, source }
}

export function asRestored({ path, kind }: Root): RootChange {
  return { type: 'restored', path, kind, source: 'rescan' }
}

/** Returns the reason of a loss by an event's mask. IN_IGNORED alone: the watch was removed with its object. */
export function reasonOfEvent(mask: number): LostReason {
  if (mask & IN_UNMOUNT) return 'unmounted'
  return mask & IN_MOVE_SELF && !(mask & IN_DELETE_SELF) ? 'renamed' : 'deleted'
}

/** Returns the reason why a finding is not what the root was. undefined: it was removed during the look. */
export function reasonOfFinding(finding: Pick<RootFinding, 'error' | 'isGone'> | undefined): LostReason {
  if (finding === undefined) return 'deleted'
  if (finding.error === 0) return 'replaced'
  return finding.isGone ? 'deleted' : 'unreadable'
}
