import { dirname, join, normalize, relative, resolve } from 'node:path'
import { inspect } from 'node:util'
import type { Kind } from '../watch/report/change.ts'
import { ignoredBy, isBelow, type MatchFunction, OF_EDITORS } from './ignored.ts'
import type { FSWInstanceOptions } from './options.ts'
import { statsOf } from './stats.ts'

/** What is to be told of, and by which names: what was added, unwatched and ignored. Paths are absolute. */
export class Scope {
  readonly #options: FSWInstanceOptions
  readonly #isIgnored: MatchFunction
  // What roots were called.
  readonly #roots = new Map<string, string>()
  readonly #unwatched = new Set<string>()

  constructor(options: FSWInstanceOptions) {
    this.#options = options
    this.#isIgnored = ignoredBy(options.ignored, options.cwd)
  }

  /** @returns them as paths, and whether one of them was unwatched. Throws TypeError. */
  add(given: string | string[]): { roots: string[]; isBack: boolean } {
    const named = namesOf(given).map((name) => [resolve(this.#options.cwd ?? '', name), name] as const)
    for (const [root, name] of named) this.#roots.set(root, name)
    const roots = named.map(([root]) => root)
    return { roots, isBack: roots.map((root) => this.#unwatched.delete(root)).includes(true) }
  }

  /** @returns which of them were roots. Throws TypeError. */
  unwatch(given: string | string[]): string[] {
    const paths = namesOf(given).map((name) => resolve(this.#options.cwd ?? '', name))
    for (const path of paths) this.#unwatched.add(path)
    return paths.filter((path) => this.#roots.delete(path))
  }

  clear(): void {
    this.#roots.clear()
    this.#unwatched.clear()
  }

  isRoot(path: string): boolean {
    return this.#roots.has(path)
  }

  /** Those that go as deep as it is. */
  rootsAbove(path: string): string[] {
    const { depth = Number.POSITIVE_INFINITY } = this.#options
    const isIn = (root: string) => isBelow(path, root) && relative(root, path).split('/').length - 1 <= depth
    return [...this.#roots.keys()].filter(isIn)
  }

  /** As users call the root that it lies in. */
  nameOf(path: string): string {
    const { cwd } = this.#options
    if (cwd !== undefined) return relative(cwd, path)
    const root = this.#rootOf(path)
    return join(this.#roots.get(root) ?? root, relative(root, path))
  }

  isHidden(path: string, isFile: boolean): boolean {
    const { atomic, followSymlinks } = this.#options
    if (this.isUnwatched(path)) return true
    if (atomic !== false && OF_EDITORS.test(path.slice(this.#rootOf(path).length))) return true
    return isFile && followSymlinks && this.isIgnored(path, 'file')
  }

  isIgnored(path: string, kind: Kind | undefined): boolean {
    if (this.#options.ignored.length === 0) return false
    const name = this.#options.cwd === undefined ? this.nameOf(path) : path
    return this.#isIgnored(name, kind && statsOf(kind))
  }

  isUnwatched(path: string): boolean {
    for (const each of this.#unwatched) if (path === each || isBelow(path, each)) return true
    return false
  }

  /** For watch(). With none, large trees are watched at less cost. */
  ignore(): ((path: string, kind: Kind) => boolean) | undefined {
    if (this.#options.ignored.length + this.#unwatched.size === 0) return undefined
    return (path, kind) => {
      // Of a link that is followed nobody knows yet what it is.
      const isUnknown = kind === 'symlink' && this.#options.followSymlinks
      return this.isUnwatched(path) || this.isIgnored(path, isUnknown ? undefined : kind)
    }
  }

  #rootOf(path: string): string {
    let root = path
    while (root !== '/' && !this.#roots.has(root)) root = dirname(root)
    return root
  }
}

function namesOf(paths: string | string[]): string[] {
  return [paths].flat(Number.POSITIVE_INFINITY).map((path: unknown) => {
    if (typeof path === 'string' && path !== '') return normalize(path).replace(/(.)\/$/, '$1')
    throw new TypeError(`Non-string or empty path to watch: ${inspect(path)}`)
  })
}
