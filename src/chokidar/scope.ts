import { dirname, join, relative, resolve } from 'node:path'
import { inspect } from 'node:util'
import type { Kind } from '../watch/report/change.ts'
import { ignoredBy, isIn, type MatchFunction, OF_EDITORS } from './ignored.ts'
import type { FSWInstanceOptions } from './options.ts'
import { statsOf } from './stats.ts'

/** Knows the paths to be told of, and their names: those added, unwatched and ignored. Paths are absolute. */
export class Scope {
  readonly #options: FSWInstanceOptions
  readonly #matches: MatchFunction
  // The names of the roots as the caller gave them.
  readonly #roots = new Map<string, string>()
  readonly #unwatched = new Set<string>()

  constructor(options: FSWInstanceOptions) {
    this.#options = options
    this.#matches = ignoredBy(options.ignored, options.cwd)
  }

  /** @returns them as paths, and whether one of them was unwatched. Throws TypeError. */
  add(given: string | string[]): { roots: string[]; isBack: boolean } {
    const named = this.#named(given)
    for (const [root, name] of named) this.#roots.set(root, name)
    const roots = named.map(([root]) => root)
    return { roots, isBack: roots.map((root) => this.#unwatched.delete(root)).includes(true) }
  }

  /** @returns which of them were roots. Throws TypeError. */
  unwatch(given: string | string[]): string[] {
    const paths = this.#named(given).map(([path]) => path)
    for (const path of paths) this.#unwatched.add(path)
    return paths.filter((path) => this.#roots.delete(path))
  }

  /** The nearest that it is, or lies in. */
  rootOf(path: string): string | undefined {
    let root = path
    while (root !== '/' && !this.#roots.has(root)) root = dirname(root)
    return this.#roots.has(root) ? root : undefined
  }

  /** As users call the root that it lies in. */
  nameOf(path: string): string {
    const { cwd } = this.#options
    if (cwd !== undefined) return relative(cwd, path)
    const root = this.rootOf(path) ?? path
    return join(this.#roots.get(root) ?? root, path.slice(root.length))
  }

  /** Returns true if a path is not to be told, though watch() may tell it. */
  isHidden(path: string, kind: Kind): boolean {
    const { atomic, followSymlinks } = this.#options
    if (atomic !== false && OF_EDITORS.test(path.slice(this.rootOf(path)?.length))) return true
    return this.isIgnored(path, kind === 'symlink' && followSymlinks ? 'file' : kind)
  }

  isIgnored(path: string, kind?: Kind): boolean {
    const { ignored, cwd } = this.#options
    for (const each of this.#unwatched) if (isIn(path, each)) return true
    if (ignored.length === 0) return false
    return this.#matches(cwd === undefined ? this.nameOf(path) : path, kind && statsOf(kind))
  }

  /** For watch(). With none, large trees are watched at less cost. */
  ignore(): ((path: string, kind: Kind) => boolean) | undefined {
    const { ignored, followSymlinks } = this.#options
    if (ignored.length + this.#unwatched.size === 0) return undefined
    // The kind of a followed link's target is not known yet.
    return (path, kind) => this.isIgnored(path, kind === 'symlink' && followSymlinks ? undefined : kind)
  }

  /** Paths, and what they are called: without a slash at the end. Throws TypeError. */
  #named(given: string | string[]): Array<[path: string, name: string]> {
    return [given].flat(Number.POSITIVE_INFINITY).map((name: unknown) => {
      if (typeof name === 'string' && name !== '')
        return [resolve(this.#options.cwd ?? '', name), join(name, '.')]
      throw new TypeError(`Non-string or empty path to watch: ${inspect(name)}`)
    })
  }
}
