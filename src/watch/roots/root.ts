import { constants } from 'node:os'
import { IN_DELETE_SELF, IN_MOVE_SELF, IN_UNMOUNT } from '../../inotify/constants.ts'
import type { Kind, LostReason, RootChange, Source } from '../report/change.ts'
import type { RootFinding } from '../scan/root_finding.ts'
import type { Directory, WatchedMount } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { FileRoot } from './file_root.ts'
import type { WatchedName, Watcher } from './path_watches.ts'
import type { Way } from './ways.ts'

const NONE: ReadonlySet<WatchedMount> = new Set()

/** A file as it was when watch() was called. */
export interface SeenBefore {
  kind: Kind
  /** Its watch: what has been done to it since, events tell. */
  wd: number
}

/** A path that is watched: what it stands for, and whether it does. */
export class Root implements Watcher {
  /** Absolute. */
  readonly path: string
  // These are set in forest/: which tree it has, if it has one of its own. The mount is set by Attacher as well, before there is a tree.
  /** What is believed of the directory at this path. Stays while it is lost, to compare with what is there when it is restored. */
  top: Directory | undefined
  /** The root in whose tree it lies: that one tells of all in there, and its own top is a directory of that tree. See RootForest. */
  coverer: Root | undefined
  /** Its own mount, while it tells of anything itself. */
  mount: WatchedMount | undefined
  // These are set by Attacher alone: what its path leads to.
  /** Instead of a directory, where the path leads to none. */
  file: FileRoot | undefined
  /** The file that was at its path when watch() was called, until it is looked at for the first time. RootSet sets it. */
  before: SeenBefore | undefined
  /** Which directory it is, whatever its path. */
  identity = ''
  /** Where mounts show it: without symlinks. */
  realPath = ''
  /** The way that its path took when the hops were watched last. */
  way: Way | undefined
  /** The watched hops: {@link PathWatches} sets them. */
  watched: readonly WatchedName[] = []
  /** It is not there, and events tell when something comes: see {@link AwaitedRoots}, which sets this. */
  isAwaited = false
  #isPresent = false
  #isOverflown = false
  #consistentUntil = 0
  #absence: Error | undefined

  constructor(path: string) {
    this.path = path
  }

  /** False from 'lost' to 'restored', before it has come for the first time, and after it was removed. */
  get isPresent(): boolean {
    return this.#isPresent
  }

  /** From 'overflow' to 'recovered'. */
  get isOverflown(): boolean {
    return this.#isOverflown
  }

  /** ms since the epoch: what was changed from then on was not told, if it is lost. */
  get consistentUntil(): number {
    return this.#consistentUntil
  }

  /** What it is, or was when it was lost. */
  get kind(): Kind {
    return this.file?.kind ?? 'directory'
  }

  /** Why it is not there. */
  get absence(): Error | undefined {
    return this.#absence
  }

  /** It is there, for the first time or again. */
  appear(): void {
    this.#isPresent = true
    this.isAwaited = false
    this.#absence = undefined
  }

  /** It is there no more, or not watched any more: an overflow is over with it. */
  vanish(consistentUntil = this.#consistentUntil): void {
    this.#isPresent = false
    this.#isOverflown = false
    this.#consistentUntil = consistentUntil
  }

  /** It was looked for, and this is why it was not found. */
  explain(absence: Error): void {
    this.#absence = absence
  }

  /** Events of it were lost. */
  overflow(): void {
    this.#isOverflown = true
  }

  /** All that was lost has been told. */
  recover(): void {
    this.#isOverflown = false
  }

  /** It tells of itself from now on, and goes on where the one that did so until now has got to. */
  succeed({ isOverflown, consistentUntil }: Root): void {
    this.#isOverflown = isOverflown
    this.#consistentUntil = consistentUntil
  }

  /** Its own mount, and those below it. */
  get mounts(): ReadonlySet<WatchedMount> {
    return this.mount?.family ?? NONE
  }

  /** All that was listed of it before is out of date. */
  outdate(): void {
    for (const mount of this.mounts) mount.epoch++
  }

  /** Whether a look has found the directory that it is. */
  is({ identity }: Pick<RootFinding, 'identity'>): boolean {
    if (this.mount?.numbersPass === true) return withoutNumber(identity) === withoutNumber(this.identity)
    return identity === this.identity
  }

  /** Forgets those of mounts and links that are gone. */
  dropMounts(tree: Tree): void {
    for (const mount of this.mounts) {
      const { base } = mount
      if (base !== undefined && !tree.isAttached(base)) mount.leave()
    }
  }
}

function withoutNumber(identity: string): string {
  return identity.slice(0, identity.lastIndexOf(' '))
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

export function asRestored({ path, kind }: Root, source: Source): RootChange {
  return { type: 'restored', path, kind, source }
}

/** What an event says of the end of what is watched. IN_IGNORED alone: its watch was removed with it. */
export function reasonOfEvent(mask: number): LostReason {
  if (mask & IN_UNMOUNT) return 'unmounted'
  return mask & IN_MOVE_SELF && !(mask & IN_DELETE_SELF) ? 'renamed' : 'deleted'
}

const { ENOENT, ENOTDIR, ELOOP } = constants.errno
const ABSENT: readonly number[] = [ENOENT, ENOTDIR, ELOOP]

/** Why what a look has found is not what a root was. undefined: it was removed while it was looked at. */
export function reasonOfFinding(finding: Pick<RootFinding, 'error' | 'isGone'> | undefined): LostReason {
  if (finding === undefined) return 'deleted'
  if (finding.error === 0) return 'replaced'
  return finding.isGone || ABSENT.includes(-finding.error) ? 'deleted' : 'unreadable'
}
