import { basename, dirname, join } from 'node:path'
import type { InotifyError } from '../../errors.ts'
import type { Choice } from '../../mounts/filesystems.ts'
import type { EventsContext } from '../events/context.ts'
import { ITSELF, type PathWatches, type WatchedName } from './path_watches.ts'
import type { Root } from './root.ts'
import {
  type Adding,
  isOutOfWatches,
  keyOf,
  PathWatchCache,
  type WatchedWay,
  type Way,
  watchFile,
  watchWays,
  waysOf,
} from './ways.ts'

/** The objects by which the hops of a path are watched. */
export interface PathsContext extends EventsContext {
  readonly pathWatches: PathWatches
}

// The watch that has been added meanwhile reports a replacement after that.
const MOST_TIMES = 3

/** Resolves the paths of roots, and watches their hops. Symlinks are followed, but not at the last name if `followRoots` is false. */
export class RootPaths {
  readonly #context: PathsContext

  constructor(context: PathsContext) {
    this.#context = context
  }

  /** Chooses the source for the entry at a path. Rejects if that cannot be looked at. */
  async choose(path: string): Promise<Choice> {
    const { sourceChoice, system, rules } = this.#context
    // A symlink that comes or goes later lies on a mount that is asked here: the mount table tells of new ones there.
    const isLink = !rules.followsRoots && (await system.isSymlink(path))
    return await sourceChoice.choose(isLink ? dirname(path) : path)
  }

  async wayOf(path: string): Promise<Way> {
    const isLink = this.#context.rules.followsRoots || path === '/'
    const [way] = await this.waysOf([{ path, isLink }])
    return way as Way
  }

  /** Resolves many paths. Only the directory is resolved of a path that is no link to be followed, and each directory once. */
  async waysOf(paths: ReadonlyArray<{ path: string; isLink: boolean }>): Promise<Way[]> {
    const sought = paths.map(({ path, isLink }) => (isLink ? path : dirname(path)))
    const ways = await waysOf([...new Set(sought)], this.#context.system)
    const byPath = new Map(ways.map((way) => [way.path, way]))
    return paths.map(({ path, isLink }, i) => {
      const way = byPath.get(sought[i] as string) as Way
      return isLink ? way : { ...way, path, realPath: join(way.realPath, basename(path)) }
    })
  }

  /**
   * Watches the hops of a root until they are the same after watching: no event tells of a replacement on the way before its watch was added. `isSettled`
   * false: they never were the same, since somebody replaces something again and again.
   *
   * @param end what is watched at the end: nothing but what is above, the name, or the file as well. Throws InotifyError if a watch that a file needs is refused
   */
  async watch(
    root: Root,
    end: 'above' | 'name' | 'file',
    inotify: Adding,
  ): Promise<{ isSettled: boolean; refused: InotifyError | undefined }> {
    let before: string | undefined
    let refused: InotifyError | undefined
    for (let i = 0; i < MOST_TIMES; i++) {
      const way = await this.wayOf(root.path)
      const along = watchWays(way, end !== 'above', new PathWatchCache(inotify))
      if (end === 'file') this.enterFile(root, way, along, inotify)
      else this.#enter(root, way, along.watched, 0)
      refused = along.refused
      const now = routeOf(way, along.watched)
      if (now === before) return { isSettled: true, refused }
      before = now
    }
    return { isSettled: false, refused }
  }

  /** Watches a file whose hops are watched as far as possible. Returns false if there is none. Throws InotifyError if a needed watch is refused. */
  enterFile(root: Root, way: Way, along: WatchedWay, inotify: Adding): boolean {
    const own = watchFile(root.path, inotify, this.#context.rules.followsRoots)
    // Set whatever was refused: the watches that were added are known, and go with the file.
    this.#enter(root, way, along.watched, typeof own === 'number' ? own : 0)
    if (typeof own === 'object') throw own
    if (along.refused !== undefined && isOutOfWatches(along.refused)) throw along.refused
    return own !== undefined
  }

  /** Removes the watches of a root. */
  leave(root: Root): void {
    this.#enter(root, root.way, [], 0)
  }

  #enter(root: Root, way: Way | undefined, watched: readonly WatchedName[], own: number): void {
    const { inotify, pathWatches } = this.#context
    const before = root.watched
    root.way = way
    root.watched = own > 0 ? [...watched, { wd: own, name: ITSELF }] : watched
    inotify.retire(pathWatches.replace(root, before, root.watched))
  }
}

/** Returns a key of the links, the end and the watches of a way, to see if any of these has changed. */
export function routeOf({ realPath, links }: Way, watched: readonly WatchedName[]): string {
  return [realPath, ...links.flatMap(({ path, to }) => [path, to]), keyOf(watched)].join('\0')
}
