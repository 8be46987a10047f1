import type { LostReason, Source } from '../../report/change.ts'
import { eachBelow } from '../../tree/changes_below.ts'
import { Directory, isUnwatched, WatchedMount } from '../../tree/directory.ts'
import { TreeEditor } from '../../tree/tree_editor.ts'
import type { RootsContext } from '../context.ts'
import { absenceOf, asLost, type Root } from '../root.ts'
import { type Covering, type Coverings, hasGone } from './covering.ts'
import { cut, graft } from './graft.ts'

/**
 * The trees of the roots. A path is reported once, however many roots cover it: so no tree's top lies below another's by path. A root whose directory is in
 * another root's tree is *covered*: it has no tree of its own, and its top is that directory (see {@link CoveredRoots}). The class knows the trees, and not
 * how their entries were found out.
 */
export class RootForest {
  readonly #context: RootsContext
  readonly #coverings: Coverings
  /** The roots whose paths lie below another root's, shorter paths first. */
  nested: readonly Root[] = []
  /** Grows when a root is admitted: others may be covered by it. */
  revision = 0
  #isClosed = false
  readonly #released: Root[] = []
  // undefined: to be found out. It is asked for after each task, and there may be thousands.
  #standing: readonly Root[] | undefined

  constructor(context: RootsContext, coverings: Coverings) {
    this.#context = context
    this.#coverings = coverings
  }

  /** Returns the root whose own tree has this top. */
  rootOf(top: Directory): Root | undefined {
    const root = this.#context.byPath.get(top.name)
    return root?.top === top && root.coverer === undefined ? root : undefined
  }

  /** Returns the roots that are watched, or looked for, by themselves: all but the covered ones. */
  standing(): readonly Root[] {
    if (this.#isClosed) return []
    this.#standing ??= [...this.#context.byPath.values()].filter(({ coverer }) => coverer === undefined)
    return this.#standing
  }

  /** Returns true if a root is one of {@link standing}. */
  isStanding(root: Root): boolean {
    return !this.#isClosed && root.coverer === undefined && this.#context.byPath.get(root.path) === root
  }

  /** Ends the work: no root stands any more. */
  close(): void {
    this.#isClosed = true
  }

  /** Returns the roots in the tree of another. */
  coveredBy(root: Root): Root[] {
    return this.nested.filter(({ coverer }) => coverer === root)
  }

  /** Gives a root a tree of its own, of which nothing is known. */
  plant(root: Root, mount: WatchedMount): Directory {
    const top = this.#context.tree.addRoot(root.path, mount)
    root.top = top
    root.mount = mount
    return top
  }

  /** Drops the tree of a root. */
  drop(root: Root): void {
    const { top } = root
    root.top = undefined
    if (top === undefined || root.coverer !== undefined) return
    // The mount of a root that turns out to be a file goes on without a directory.
    for (const mount of root.mounts) if (mount.base === top) mount.base = undefined
    if (this.#context.tree.isAttached(top)) this.#context.tree.drop(top)
  }

  /**
   * Has a root covered by another that reports its path, and returns true if there is one. The root has no tree of its own from then on. It is present, or lost
   * until the other has seen it.
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
   * Admits a root that is watched now, or looked for. Grafts the trees of the roots below into its own, as they are: their watches have reported all changes
   * meanwhile, and go on.
   *
   * @param isTold true: the findings of its first look were reported as new
   * @param isNew true: they are to be reported as new
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
    const nested = new Set([...this.nested, ...below, ...(this.#coverings.isNested(root.path) ? [root] : [])])
    this.nested = [...nested].sort((a, b) => a.path.length - b.path.length)
    this.revision++
    if (root.coverer !== undefined) return
    for (const each of below) {
      if (each.file !== undefined || each.coverer !== undefined) continue
      const covering = this.#coverings.of(each, root)
      if (each.isPresent) this.#takeIn(each, root, this.#coverings.unreadAt(each, root) ?? covering)
      // The return of that root was not reported: the entries in it are new.
      else if (covering instanceof Directory && !isToldAnyway) this.#tellAll(covering)
    }
  }

  /**
   * Forsakes the lost roots below a root that is added: from now on the new root reports what comes there, as new. So all that the lost ones have reported is
   * reported as gone.
   */
  forsakeLost(root: Root): void {
    const { rules } = this.#context
    for (const each of rules.recursive ? this.#coverings.below(root) : []) {
      if (!each.isPresent && each.coverer === undefined) this.forsake(each)
    }
  }

  /** Forsakes the roots whose trees have made way (see {@link TreeEditor}): their entries have been reported as gone, and what comes is reported as new. */
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

  /** Forsakes a root that is not at its path any more, if another root reports what comes there. */
  forsakeCovered(root: Root): void {
    const covering = this.#coverings.whoCovers(root)?.covering
    if (covering !== undefined && !(covering instanceof Directory)) this.forsake(root)
  }

  /** Returns true if roots below this one have reported their entries: these are not new when this one is added. */
  hasToldBelow(root: Root): boolean {
    const below = this.#coverings.below(root)
    return below.some(({ isPresent, coverer }) => isPresent && coverer === undefined)
  }

  /**
   * Dismisses a root that is watched no more. The roots that it covers get trees of their own, or lie in another's: all that was reported at their paths
   * stays known. Their watches stay, and nothing is listed.
   *
   * @returns the present roots whose trees were cut out of this root's tree
   */
  dismiss(root: Root): Root[] {
    const { tree, pending } = this.#context
    this.#standing = undefined
    this.nested = this.nested.filter((each) => each !== root)
    const standing: Root[] = []
    for (const each of this.coveredBy(root)) {
      const covered = this.#coverings.whoCovers(each)
      // The entries of a directory that cannot be read just now were reported, and are compared when it can be read.
      const covering = this.#coverings.unreadAt(each, root) ?? this.#coverings.of(each, root)
      if (covered !== undefined) each.coverer = covered.coverer
      else if (covering instanceof Directory) {
        // A covered root that was lost with its coverer still has the top of that time. The coverer may have reported since that another directory took the
        // place, as by an exchange: the directory reported last is to be compared when the root is restored.
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

  /** Takes the tree from a root: another root reports everything from now on. */
  absorb(root: Root, coverer: Root): void {
    this.drop(root)
    this.#enter(root, coverer)
  }

  /** Has a covered root looked for by itself from now on, as any lost one. All that was reported of it has been reported as gone, so nothing is known. */
  release(root: Root): void {
    root.coverer = undefined
    // The root was lost, so what comes is reported as new.
    if (root.top !== undefined) this.plant(root, new WatchedMount(root.top.mount))
    else if (root.absence === undefined) root.absence = absenceOf(root)
    this.#released.push(root)
    this.#outdate()
  }

  /** Has a lost root looked for after the task: another entry may be at the path by now, or else its hops are watched. */
  lookFor(root: Root): void {
    if (root.mount?.usesInotify) this.#released.push(root)
  }

  /** Returns the roots that were lost or {@link release}d since the last call: nobody has looked for them yet. */
  takeReleased(): readonly Root[] {
    return this.#released.splice(0).filter((root) => !root.isPresent && this.isStanding(root))
  }

  #enter(root: Root, coverer: Root): void {
    const { paths, inotify, tree } = this.#context
    root.coverer = coverer
    root.mount = undefined
    root.isAwaited = false
    paths.leave(root)
    inotify.retire(tree.takeRetired())
    this.#outdate()
  }

  /** Reports all entries of a root's own tree as gone. */
  forsake(root: Root): void {
    const { tree, reporter } = this.#context
    const { top } = root
    if (top === undefined) return
    if (tree.isAttached(top)) {
      const editor = new TreeEditor(tree, 'rescan')
      editor.tellGone(top)
      reporter.report(editor.take())
    }
    this.lose(root, 'deleted', 'rescan')
    this.drop(root)
    this.plant(root, new WatchedMount(top.mount))
  }

  #takeIn(root: Root, coverer: Root, covering: Covering): void {
    const { tree, rules, pending } = this.#context
    const { top } = root
    // The directory has gone. Its event is on the way, and the other root, which came too late to see the directory, will not report that.
    if (hasGone(root, coverer, covering, rules.followsLinks)) this.forsake(root)
    if (!(covering instanceof Directory) || top === undefined) return
    const { ino } = covering
    graft(tree, root, covering)
    this.#enter(root, coverer)
    for (const each of tree.within(top)) if (isUnwatched(each)) pending.work.list(each)
    // The directory was replaced while the other root was listed: that was not reported yet.
    if (top.ino !== ino && top.parent !== undefined) pending.rechecks.add(top.parent, top.name)
  }

  /** Reports all entries below a directory as new, but for those that file roots, or roots grafted there, have reported. */
  #tellAll(directory: Directory): void {
    const { tree, reporter, byPath } = this.#context
    const told = this.nested.flatMap((each) => (each.coverer && each.isPresent ? [`${each.path}/`] : []))
    const isTold = (path: string) =>
      byPath.get(path)?.file?.isPresent === true || told.some((above) => path.startsWith(above))
    const path = tree.pathOf(directory)
    const changes = eachBelow('create', directory, path === '/' ? '' : path, 'rescan')
    reporter.report(changes.filter((change) => !isTold(change.path)))
  }

  /** Notes that the trees of roots are not those with which a poll under way began. */
  #outdate(): void {
    this.#standing = undefined
    for (const root of this.#context.byPath.values()) root.outdate()
  }
}
