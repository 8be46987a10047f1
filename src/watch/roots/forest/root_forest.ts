import { constants } from 'node:os'
import type { Change, LostReason, Source } from '../../report/change.ts'
import { asWatchError, openError } from '../../report/watch_error.ts'
import { eachBelow } from '../../tree/changes_below.ts'
import { Directory, isUnwatched, WatchedMount } from '../../tree/directory.ts'
import type { Tree } from '../../tree/tree.ts'
import type { RootsContext } from '../context.ts'
import { asLost, type Root } from '../root.ts'
import { type Covering, type Coverings, hasGone } from './covering.ts'
import { cut, graft } from './graft.ts'

const NONE: readonly Root[] = []

/**
 * The roots' trees. A path is told once, however many roots cover it: so no tree's top lies below another's by path. A root whose directory another
 * one's tree has is *covered*: it has no tree of its own, and its top is that directory: see {@link CoveredRoots}. This knows what the trees believe,
 * and not how that came to be known.
 */
export class RootForest {
  readonly #context: RootsContext
  readonly #coverings: Coverings
  #nested: readonly Root[] = []
  #revision = 0
  #isClosed = false
  #released: Root[] = []
  // undefined: it is to be found out. It is asked for after each command, and there may be thousands.
  #standing: readonly Root[] | undefined

  constructor(context: RootsContext, coverings: Coverings) {
    this.#context = context
    this.#coverings = coverings
  }

  /** The root whose tree this is the top of. */
  rootOf(top: Directory): Root | undefined {
    const root = this.#context.byPath.get(top.name)
    return root?.top === top && root.coverer === undefined ? root : undefined
  }

  /** Those that are watched, or looked for, by themselves: what a covered root covers, another looks after. */
  standing(): readonly Root[] {
    if (this.#isClosed) return []
    this.#standing ??= [...this.#context.byPath.values()].filter(({ coverer }) => coverer === undefined)
    return this.#standing
  }

  /** Whether it is one of {@link standing}. */
  isStanding(root: Root): boolean {
    return !this.#isClosed && root.coverer === undefined && this.#context.byPath.get(root.path) === root
  }

  /** Nothing is looked after any more. */
  close(): void {
    this.#isClosed = true
  }

  /** Grows when a root is admitted: others may be what they were not. */
  get revision(): number {
    return this.#revision
  }

  /** Those whose path lies below another's, shorter paths first. */
  get nested(): readonly Root[] {
    return this.#nested
  }

  /** Those that lie in the tree of another. */
  coveredBy(root: Root): Root[] {
    return this.#nested.filter(({ coverer }) => coverer === root)
  }

  /** Gives a root a tree of its own, of which nothing is known. */
  plant(root: Root, mount: WatchedMount): Directory {
    const top = this.#context.tree.addRoot(root.path, mount)
    root.top = top
    root.mount = mount
    return top
  }

  /** Nothing is believed any more of what a root has told itself. */
  drop(root: Root): void {
    const { top } = root
    root.top = undefined
    if (top === undefined || root.coverer !== undefined) return
    // Where it turns out to be a file, its mount goes on without a directory.
    for (const mount of root.mounts) if (mount.base === top) mount.base = undefined
    if (this.#context.tree.isAttached(top)) this.#context.tree.drop(top)
  }

  /**
   * Whether another root tells of what is at the path of this one, so that it has no tree of its own from now on. It is present then, or is lost
   * until the other one has seen it.
   */
  cover(root: Root): boolean {
    const covered = this.#coverings.whoCovers(root)
    if (covered === undefined) return false
    const { coverer, covering } = covered
    const { top } = root
    this.absorb(root, coverer)
    const isThere = coverer.isPresent && covering instanceof Directory
    root.top = isThere ? covering : top
    if (isThere) root.appear()
    return true
  }

  /**
   * A root is watched now, or looked for. The trees of those below it are grafted into its own, as they are: their watches have told what has
   * happened meanwhile, and go on.
   *
   * @param isTold whether what was found at its first look was told as new
   * @param isNew whether it is to be
   */
  admit(root: Root, isTold: boolean, isNew: boolean): void {
    const { rules } = this.#context
    this.#standing = undefined
    if (root.file !== undefined) return
    if (rules.recursive) this.#admitNested(root, isTold || isNew)
    if (isNew && !isTold && root.coverer === undefined && root.top !== undefined) this.#tellAll(root.top)
  }

  #admitNested(root: Root, isToldAnyway: boolean): void {
    const below = this.#coverings.below(root)
    const nested = new Set([
      ...this.#nested,
      ...below,
      ...(this.#coverings.isNested(root.path) ? [root] : []),
    ])
    this.#nested = [...nested].sort((a, b) => a.path.length - b.path.length)
    this.#revision++
    if (root.coverer !== undefined) return
    for (const each of below) {
      if (each.file !== undefined || each.coverer !== undefined) continue
      const covering = this.#coverings.of(each, root)
      if (each.isPresent) this.#takeIn(each, root, this.#coverings.unreadAt(each, root) ?? covering)
      // That it is there again has not been told: what is in it is new.
      else if (covering instanceof Directory && !isToldAnyway) this.#tellAll(covering)
    }
  }

  /**
   * A root is added in which others lie that are lost: from now on it tells what comes there, as new. So what they have told, and would have compared with
   * what comes, is told to be gone.
   */
  forsakeLost(root: Root): void {
    const { rules } = this.#context
    for (const each of rules.recursive ? this.#coverings.below(root) : []) {
      if (!each.isPresent && each.coverer === undefined) this.forsake(each)
    }
  }

  /** See {@link Tree.makeWay}: all that these roots have told has been told to be gone, and what comes is told as new. */
  forsakeVacated(): void {
    const { vacated } = this.#context.tree
    if (vacated.size === 0) return
    for (const top of vacated) {
      const root = this.rootOf(top)
      if (root === undefined) continue
      this.forsake(root)
      this.#released.push(root)
    }
    vacated.clear()
    this.#outdate()
  }

  /** A root is not at its path any more, and another tells what comes there, or that nothing does: so what it has told is told to be gone. */
  forsakeCovered(root: Root): void {
    const covering = this.#coverings.whoCovers(root)?.covering
    if (covering !== undefined && !(covering instanceof Directory)) this.forsake(root)
  }

  /** Whether roots below this one have told what is there, so that it is not new when this one is added. */
  hasToldBelow(root: Root): boolean {
    const below = this.#coverings.below(root)
    return below.some(({ isPresent, coverer }) => isPresent && coverer === undefined)
  }

  /**
   * A root is watched no more. Those that it covers have trees of their own from now on, or lie in another's: what it has told at their paths stays
   * believed. The answer are those that are present and whose tree is cut out of its. Their watches stay, and nothing is listed.
   */
  dismiss(root: Root): Root[] {
    const { tree, pending } = this.#context
    this.#standing = undefined
    this.#nested = this.#nested.filter((each) => each !== root)
    const standing: Root[] = []
    for (const each of this.coveredBy(root)) {
      const covered = this.#coverings.whoCovers(each)
      // What nobody can read just now was told, and is to be compared when somebody can.
      const covering = this.#coverings.unreadAt(each, root) ?? this.#coverings.of(each, root)
      if (covered !== undefined) each.coverer = covered.coverer
      else if (covering instanceof Directory) {
        // While a root is lost, those that it covers have the tops that they were lost with: it may have told before that another directory took the
        // place of one, as by an exchange. What is to be compared when that is restored is what was told last.
        each.top = covering
        cut(tree, pending.scans, each, root)
        if (each.isPresent) standing.push(each)
        else this.#released.push(each)
      } else this.release(each)
    }
    if (standing.length > 0) this.#outdate()
    return standing
  }

  lose(root: Root, reason: LostReason, source: Source): void {
    if (!root.isPresent) return
    root.vanish()
    this.#context.reporter.report([asLost(root, reason, source)])
  }

  /** A root has no tree of its own from now on: all that it would tell, another does. */
  absorb(root: Root, coverer: Root): void {
    this.drop(root)
    this.#enter(root, coverer)
  }

  /** A covered root is looked for by itself from now on, as any that is lost. All that was told of it is told to be gone, so nothing is known. */
  release(root: Root): void {
    root.coverer = undefined
    // It has been lost, so that what comes is told as new.
    if (root.top !== undefined) this.#plantAnew(root, root.top.mount)
    else if (root.absence === undefined) root.explain(absenceOf(root))
    this.#released.push(root)
    this.#outdate()
  }

  /** It is lost: something may be there again by now, and else it is to be known when. */
  lookFor(root: Root): void {
    if (root.mount?.usesInotify) this.#released.push(root)
  }

  /** Those that were lost or {@link release}d since the last call: nobody has looked for them yet. */
  takeReleased(): readonly Root[] {
    if (this.#released.length === 0) return NONE
    const released = this.#released
    this.#released = []
    return released.filter((root) => !root.isPresent && this.isStanding(root))
  }

  #enter(root: Root, coverer: Root): void {
    const { paths, watches } = this.#context
    root.coverer = coverer
    root.mount = undefined
    root.isAwaited = false
    paths.leave(root)
    watches.releaseUnused()
    this.#outdate()
  }

  /** All that a root has told of itself is told to be gone. */
  forsake(root: Root): void {
    const { tree, reporter } = this.#context
    const { top } = root
    if (top === undefined) return
    if (tree.isAttached(top)) reporter.report(asGone(tree, top))
    this.lose(root, 'deleted', 'rescan')
    this.drop(root)
    this.#plantAnew(root, top.mount)
  }

  /** Nothing is known of it, and what comes is told as new. */
  #plantAnew(root: Root, { backend, why, anyCase }: WatchedMount): void {
    const mount = new WatchedMount(backend, why, 0)
    mount.anyCase = anyCase
    this.plant(root, mount)
  }

  #takeIn(root: Root, coverer: Root, covering: Covering): void {
    const { tree, rules, pending } = this.#context
    const { top } = root
    // It has gone: its event is on the way, and the other one, which came too late to see that, will not tell.
    if (hasGone(root, coverer, covering, rules.followsLinks)) this.forsake(root)
    if (!(covering instanceof Directory) || top === undefined) return
    const { ino } = covering
    graft(tree, root, covering)
    this.#enter(root, coverer)
    for (const each of tree.within(top)) if (isUnwatched(each)) pending.work.list(each)
    // It was replaced while the other was listed: nobody has told yet.
    if (top.ino !== ino && top.parent !== undefined) pending.rechecks.add(top.parent, top.name)
  }

  /** Reports all that is believed below a directory as new, but for what was told by roots that are files, or have been grafted there. */
  #tellAll(directory: Directory): void {
    const { tree, reporter, byPath } = this.#context
    const told = this.#nested.flatMap((each) => (each.coverer && each.isPresent ? [`${each.path}/`] : []))
    const isTold = (path: string) =>
      byPath.get(path)?.file?.isPresent === true || told.some((above) => path.startsWith(above))
    const path = tree.pathOf(directory)
    const changes = eachBelow('create', directory, path === '/' ? '' : path, 'rescan')
    reporter.report(changes.filter((change) => !isTold(change.path)))
  }

  /** Roots have trees, or have none any more, otherwise than a poll under way believes. */
  #outdate(): void {
    this.#standing = undefined
    for (const root of this.#context.byPath.values()) root.outdate()
  }
}

function absenceOf({ path }: Root): Error {
  return asWatchError(openError(-constants.errno.ENOENT, path), path) as Error
}

/** Returns the deletes of all that is believed in a directory. */
function asGone(tree: Tree, directory: Directory): Change[] {
  return [...tree.entriesOf(directory)].map(([name, entry]) => {
    const path = tree.pathOf(directory, name)
    const change = { type: 'delete', path, kind: entry.kind, mask: 0, source: 'rescan' } as const
    tree.expansions?.note(change, eachBelow('delete', entry, path, 'rescan'))
    return change
  })
}
