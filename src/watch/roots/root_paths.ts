import { basename, dirname } from 'node:path'
import type { Choice } from '../../mounts/filesystems.ts'
import type { EventsContext } from '../events/context.ts'
import type { WatchedName } from './path_watches.ts'
import { keyOf, MOST_TIMES, type Way, wayOf, waysOf } from './ways.ts'

/** Resolves the paths of roots. Symlinks are followed, but not at the last name if `followRoots` is false. */
export class RootPaths {
  readonly #context: EventsContext

  constructor(context: EventsContext) {
    this.#context = context
  }

  get followsLast(): boolean {
    return this.#context.settings.followRoots
  }

  /** Chooses the source for the entry at a path. Rejects if that cannot be looked at. */
  async choose(path: string): Promise<Choice> {
    const { sourceChoice, system } = this.#context
    // A symlink that comes or goes later lies on a mount that is asked here: the mount table tells of new ones there.
    const isLink = !this.followsLast && (await system.isSymlink(path))
    return await sourceChoice.choose(isLink ? dirname(path) : path)
  }

  /** Returns the path without symlinks. Rejects as realpath(3) fails. */
  async realpath(path: string): Promise<string> {
    const { system } = this.#context
    if (this.followsLast || path === '/') return await system.realpath(path)
    return within(await system.realpath(dirname(path)), path)
  }

  async wayOf(path: string): Promise<Way> {
    const { system } = this.#context
    if (this.followsLast || path === '/') return await wayOf(path, system)
    const { realPath, links, left } = await wayOf(dirname(path), system)
    return { path, realPath: within(realPath, path), links, left }
  }

  /** Resolves many paths. Only the directory is resolved of a path that is no link to be followed, and each directory once. */
  async waysOf(paths: ReadonlyArray<{ path: string; isLink: boolean }>): Promise<Way[]> {
    const sought = paths.map(({ path, isLink }) => (isLink ? path : dirname(path)))
    const ways = await waysOf([...new Set(sought)], this.#context.system)
    const byPath = new Map(ways.map((way) => [way.path, way]))
    return paths.map(({ path, isLink }, i) => {
      const way = byPath.get(sought[i] as string) as Way
      return isLink ? way : { ...way, path, realPath: within(way.realPath, path) }
    })
  }

  /**
   * Watches the way of a path, until it is the same after watching: no event tells of a replacement on it before
   * its watch was added. Returns false if it never was the same: somebody replaces something again and again.
   */
  async follow(path: string, watch: (way: Way) => readonly WatchedName[]): Promise<boolean> {
    let before: string | undefined
    for (let i = 0; i < MOST_TIMES; i++) {
      const way = await this.wayOf(path)
      const now = routeOf(way, watch(way))
      if (now === before) return true
      before = now
    }
    return false
  }
}

/** Returns a key of the links, the end and the watches of a way, to see if any of these has changed. */
export function routeOf({ realPath, links }: Way, watched: readonly WatchedName[]): string {
  return [realPath, ...links.flatMap(({ path, to }) => [path, to]), keyOf(watched)].join('\0')
}

/** Returns the path of the same last name in a directory. */
function within(directory: string, path: string): string {
  return `${directory === '/' ? '' : directory}/${basename(path)}`
}
