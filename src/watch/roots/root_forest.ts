import { constants } from 'node:os'
import { dirname } from 'node:path'
import type { Translator } from '../events/translator.ts'
import type { WatchRelease } from '../events/watch_release.ts'
import type { Surroundings } from '../pending/work_list.ts'
import type { Change, Source } from '../report/change.ts'
import type { Reporter } from '../report/reporter.ts'
import { asWatchError, openError } from '../report/watch_error.ts'
import { Directory, isUnwatched, isWithin } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { WatchedMount } from '../tree/watched_mount.ts'
import { type Covering, coveringAt } from './covering.ts'
import type { PathWatches } from './path_watches.ts'
import { aboutRoot, type Root } from './root.ts'

export interface RootForestParts {
  tree: Tree
  translator: Pick<Translator, 'listed'>
  around: Surroundings
  watches: WatchRelease
  reporter: Pick<Reporter, 'report'>
  /** By their paths, those that are watched or looked for. */
  byPath: ReadonlyMap<string, Root>
  /** See ways.ts. */
  ways: PathWatches<Root>
  /** Roots have trees, or have none any more, otherwise than a poll under way believes. */
  regrouped(): void
}

/**
 * The roots' trees. A path is told once, however many roots cover it: so no tree's top lies below another's by path. A root whose directory another
 * one's tree has is *covered*: it has no tree of its own, its top is that directory, and all it adds is whether it is lost, restored,
 * overflown or recovered. This knows what the trees believe, and not how that came to be known.
 */
export class RootForest {
  readonly #parts: RootForestParts
  // Those that have trees of their own.
  readonly #byTop = new Map<Directory, Root>()
  // Those whose path lies below another's, shorter paths first.
  #nested: Root[] = []
  #revision = 0

  constructor(parts: RootForestParts) {
    this.#parts = parts
  }

  /** The root whose tree this is the top of. */
  rootOf(top: Directory): Root | undefined {
    return this.#byTop.get(top)
  }

  /** Those that lie in the tree of another. */
  coveredBy(root: Root): Root[] {
    return this.#nested.filter(({ coverer }) => coverer === root)
  }

  /** Gives a root a tree of its own, of which nothing is known. */
  plant(root: Root, mount: WatchedMount): Directory {
    const top = this.#parts.tree.addRoot(root.path, mount)
    root.top = top
    root.mounts.add(mount)
    this.#byTop.set(top, root)
    return top
  }

  /** Nothing is believed any more of what a root has told itself. */
  drop(root: Root): void {
    const { top } = root
    root.top = undefined
    if (top === undefined || !this.#byTop.delete(top)) return
    this.#parts.tree.drop(top)
  }

  /**
   * Whether another root tells of what is at the path of this one, so that it has no tree of its own from now on. It is present then, or is lost
   * until the other one has seen it.
   */
  cover(root: Root): boolean {
    const coverer = this.#covererOf(root.path)
    const covering = coverer && this.#coveringOf(root, coverer)
    if (coverer === undefined || covering === 'elsewhere' || covering === 'file') return false
    const { top } = root
    this.drop(root)
    this.#enter(root, coverer)
    const isThere = coverer.isPresent && covering instanceof Directory
    root.top = isThere ? covering : top
    root.isPresent = isThere
    return true
  }

  /** Whether another root tells what comes to be at this path, and what is written to it, if that is a file. */
  tellsOf(path: string): boolean {
    const { recursive } = this.#parts.around
    const coverer = recursive ? this.#covererOf(path) : this.#parts.byPath.get(dirname(path))
    const { top, isPresent = false } = coverer ?? {}
    return isPresent && top !== undefined && this.#at(top, coverer as Root, path) !== 'elsewhere'
  }

  /**
   * A root is watched now, or looked for. The trees of those below it are grafted into its own, as they are: their watches have told what has
   * happened meanwhile, and go on.
   */
  admit(root: Root): void {
    const { byPath, around } = this.#parts
    if (root.file !== undefined || !around.recursive) return
    const below = [...byPath.values()].filter(({ path }) => isBelow(path, root.path))
    const isNested = this.#above(root.path, () => true) !== undefined
    const nested = new Set([...this.#nested, ...below, ...(isNested ? [root] : [])])
    this.#nested = [...nested].sort((a, b) => a.path.length - b.path.length)
    for (const each of root.coverer === undefined && root.isPresent ? below : []) {
      if (each.isPresent && each.file === undefined && each.coverer === undefined) this.#graft(each)
    }
    this.#revision = -1
  }

  /** Of what is told as new at the first look at a root, what no root below it has told before. undefined: all of it. */
  untoldBy(root: Root): ((changes: Change[]) => Change[]) | undefined {
    const told = [...this.#parts.byPath.values()].filter(
      ({ path, isPresent, coverer }) => isPresent && coverer === undefined && isBelow(path, root.path),
    )
    if (told.length === 0) return undefined
    return (changes) =>
      changes.filter(({ path }) =>
        told.every((each) => !(each.file === undefined ? isBelow(path, each.path) : path === each.path)),
      )
  }

  /**
   * A root is watched no more. Those that it covers have trees of their own from now on, or lie in another's: the answer are those that are
   * present and whose tree is cut out of its. Their watches stay, and nothing is listed.
   */
  dismiss(root: Root): Root[] {
    this.#nested = this.#nested.filter((each) => each !== root)
    const cut: Root[] = []
    for (const each of this.coveredBy(root)) {
      const coverer = this.#covererOf(each.path)
      const covering = coverer && this.#coveringOf(each, coverer)
      if (coverer !== undefined && covering !== 'elsewhere' && covering !== 'file') each.coverer = coverer
      else if (each.top !== undefined && this.#coveringOf(each, root) === each.top) {
        this.#cut(each, root)
        if (each.isPresent) cut.push(each)
      } else this.#release(each)
    }
    if (cut.length > 0) this.#parts.regrouped()
    return cut
  }

  lose(root: Root, source: Source): void {
    if (!root.isPresent) return
    root.isPresent = false
    root.isOverflown = false
    this.#parts.reporter.report([aboutRoot('lost', root, source)])
  }

  /** After each task: whether covered roots are what they were. Costs nothing while nothing is covered, and little while no directory comes or goes. */
  review(): void {
    if (this.#nested.length === 0) return
    const hasChanged = this.#parts.tree.revision !== this.#revision
    this.#revision = this.#parts.tree.revision
    for (const root of this.#nested) {
      const coverer = root.file === undefined ? this.#covererOf(root.path) : undefined
      if (coverer === undefined) continue
      if (root.coverer !== undefined) this.#reviewCovered(root, coverer, hasChanged)
      else if (coverer.isPresent && (hasChanged || !root.isPresent)) {
        const covering = this.#coveringOf(root, coverer)
        if (covering instanceof Directory) this.#absorb(root, coverer, covering)
      }
    }
  }

  #reviewCovered(root: Root, coverer: Root, hasChanged: boolean): void {
    const { reporter } = this.#parts
    root.coverer = coverer
    if (root.isPresent && coverer.isOverflown && !root.isOverflown) {
      root.isOverflown = true
      reporter.report([aboutRoot('overflow', root, 'inotify')])
    }
    // A symlink that comes is no directory.
    if (hasChanged || !root.isPresent) this.#compare(root, coverer)
    if (root.isOverflown && !coverer.isOverflown) {
      root.isOverflown = false
      reporter.report([aboutRoot('recovered', root, 'rescan')])
    }
  }

  #compare(root: Root, coverer: Root): void {
    const covering = this.#coveringOf(root, coverer)
    const found = covering instanceof Directory && coverer.isPresent ? covering : undefined
    if (found !== root.top) this.lose(root, sourceOf(root))
    if (found !== undefined) this.#restore(root, found)
    // What was a directory is not restored by a file.
    else if (covering === 'elsewhere' || (covering === 'file' && root.top === undefined)) this.#release(root)
  }

  #restore(root: Root, top: Directory): void {
    root.top = top
    if (root.isPresent) return
    root.isPresent = true
    root.absence = undefined
    this.#parts.reporter.report([aboutRoot('restored', root, 'rescan')])
  }

  /** Something has come to be at its path of which another root tells all. */
  #absorb(root: Root, coverer: Root, directory: Directory): void {
    const isAnother = root.top?.ino !== directory.ino
    if (isAnother) this.lose(root, sourceOf(root))
    this.drop(root)
    this.#enter(root, coverer)
    this.#restore(root, directory)
  }

  #enter(root: Root, coverer: Root): void {
    const { ways, watches, regrouped } = this.#parts
    root.coverer = coverer
    root.mounts.clear()
    watches.retire(ways.set(root, []))
    watches.releaseUnused()
    regrouped()
  }

  /** Its own tree, which has told, takes the place of what the first listing of the other has found there. */
  #graft(root: Root): void {
    const { tree, around } = this.#parts
    const { top } = root
    const coverer = this.#covererOf(root.path)
    const found = coverer && this.#coveringOf(root, coverer)
    if (coverer === undefined || top === undefined || !(found instanceof Directory)) return
    const { parent, name, mount } = found
    if (parent === undefined) return
    const isBase = mount.base === found
    const mounts = [...root.mounts].filter((each) => each !== top.mount)
    tree.drop(found)
    this.#byTop.delete(top)
    tree.regroup(top, mount)
    if (isBase) mount.base = top
    top.stat = found.stat
    tree.attach(top, parent, name)
    for (const each of mounts) coverer.mounts.add(each)
    this.#enter(root, coverer)
    for (const each of tree.within(top)) if (isUnwatched(each)) around.list(each)
    // It was replaced while the other was listed: nobody has told yet.
    if (top.ino !== found.ino) around.doubt(parent, name)
  }

  /** What another root's tree has at its path is its own tree from now on. */
  #cut(root: Root, coverer: Root): void {
    const { tree, translator } = this.#parts
    const top = root.top as Directory
    const { backend, why, mountId, limit } = top.mount
    const mount = new WatchedMount(backend, why, mountId)
    mount.base = top
    mount.limit = limit
    root.consistentUntil = coverer.consistentUntil
    root.isOverflown = coverer.isOverflown
    root.mounts.add(mount)
    for (const each of coverer.mounts) {
      if (each.base !== undefined && each.base !== top && isWithin(each.base, top)) root.mounts.add(each)
    }
    if (translator.listed.has(top.mount)) translator.listed.add(mount)
    tree.regroup(top, mount)
    tree.cut(top)
    top.stat = undefined
    root.coverer = undefined
    this.#byTop.set(top, root)
  }

  /** It is looked for by itself, as any root that is lost. All that was told of it is told to be gone, so nothing is known. */
  #release(root: Root): void {
    root.coverer = undefined
    // It has been lost, so that what comes is told as new.
    if (root.top === undefined) root.absence ??= absenceOf(root)
    else this.plant(root, new WatchedMount(root.top.mount.backend, root.top.mount.why, 0))
    this.#parts.regrouped()
  }

  #coveringOf({ path }: Root, coverer: Root): Covering {
    // What was there is lost with it, and what comes is found with it.
    if (coverer.top === undefined) return 'nothing'
    return this.#at(coverer.top, coverer, path)
  }

  #at(top: Directory, { path: above }: Root, path: string): Covering {
    const { tree, around } = this.#parts
    const names = path.slice(above === '/' ? 1 : above.length + 1).split('/')
    return coveringAt(tree, around, top, names)
  }

  /** The root whose tree a path belongs to, if it is in one: the nearest above it that has a tree. */
  #covererOf(path: string): Root | undefined {
    if (!this.#parts.around.recursive) return undefined
    return this.#above(path, ({ coverer, file }) => coverer === undefined && file === undefined)
  }

  #above(path: string, isMeant: (root: Root) => boolean): Root | undefined {
    for (let each = path; each !== '/'; ) {
      each = dirname(each)
      const root = this.#parts.byPath.get(each)
      if (root !== undefined && isMeant(root)) return root
    }
    return undefined
  }
}

function isBelow(path: string, above: string): boolean {
  return path !== above && path.startsWith(above === '/' ? above : `${above}/`)
}

/** How it came to be known that a covered root is not what it was, for all that its tree can say. */
function sourceOf({ isOverflown, top }: Root): Source {
  if (isOverflown) return 'rescan'
  return top?.mount.usesInotify ? 'inotify' : 'poll'
}

function absenceOf({ path }: Root): Error {
  return asWatchError(openError(-constants.errno.ENOENT, path), path) as Error
}
