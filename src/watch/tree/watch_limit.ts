import { constants } from 'node:os'
import { InotifyError } from '../../errors.ts'
import { textOf } from '../../name_key.ts'
import type { Directory } from './directory.ts'
import type { Tree } from './tree.ts'

/** ms: a directory is quiet that had no event for so long. */
const QUIET_MS = 60_000

/** The most watches that directories may have. A scan asks level by level, so that those nearest to a root get one. */
export class WatchLimit {
  readonly #tree: Tree
  readonly #max: number
  // Asked for by the scan under way, and not in the tree yet.
  #asked = 0
  // The watches that had events since a moment, and in the time before; and these moments, ms of a clock that never goes back, as all others here.
  #active = new Set<number>()
  #before = new Set<number>()
  #since: number
  #sinceBefore: number

  constructor(tree: Tree, max: number, now: number) {
    this.#tree = tree
    this.#max = max
    this.#sinceBefore = this.#since = now
  }

  get isFull(): boolean {
    return this.#tree.watches + this.#asked >= this.#max
  }

  /** Notes that the scan under way is over. */
  settle(): void {
    this.#asked = 0
  }

  /** Returns true if a directory may have a watch. */
  ask(isWatched: boolean): boolean {
    if (isWatched) return true
    if (this.isFull) return false
    this.#asked++
    return true
  }

  /** Notes that a directory got a watch. */
  take(): void {
    this.#asked = Math.max(0, this.#asked - 1)
  }

  /** Notes an event. */
  note(wd: number, now: number): void {
    this.#age(now)
    this.#active.add(wd)
  }

  #age(now: number): void {
    if (now - this.#since < QUIET_MS) return
    this.#before = this.#active
    this.#active = new Set()
    this.#sinceBefore = this.#since
    this.#since = now
  }

  /** Returns up to so many watched directories below these that are quiet, those farthest from them first. */
  quiet(tops: Iterable<Directory>, count: number, now: number): Directory[] {
    this.#age(now)
    if (now - this.#sinceBefore < QUIET_MS) return []
    const found = [...tops].flatMap((top) => {
      const levels: Directory[][] = []
      for (let level = [top]; level.length > 0; level = level.flatMap((each) => [...each.subdirectories()]))
        levels.push(level.filter(({ wd }) => wd > 0 && !this.#active.has(wd) && !this.#before.has(wd)))
      return levels.slice(1).flatMap((level, depth) => level.map((directory) => ({ directory, depth })))
    })
    return found
      .sort((a, b) => b.depth - a.depth)
      .slice(0, count)
      .map(({ directory }) => directory)
  }

  errorOf(directory: Directory): InotifyError {
    const path = textOf(this.#tree.pathOf(directory))
    const hint = `options.maxWatches allows ${this.#max}, and others are nearer to the root or have changed since`
    return new InotifyError({ errno: constants.errno.ENOSPC, syscall: 'inotify_add_watch', path, hint })
  }
}
