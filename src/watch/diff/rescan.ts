import { dirname } from 'node:path'
import type { InotifyError } from '../../errors.ts'
import { type Change, pathsOf } from '../report/change.ts'
import type { Listing, RootFinding } from '../scan/listing.ts'
import type { TreeWalker } from '../system.ts'
import { type Directory, isWithin } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { WatchStatus } from '../tree/watch_status.ts'
import type { DiffContext } from './context.ts'
import type { Outcome } from './diff.ts'
import { type DiffOptions, RESCAN } from './diff_options.ts'
import { forgetNumbers, learnNumbers } from './passing_numbers.ts'
import { reconcile } from './reconcile.ts'
import { Looker } from './snapshot/looker.ts'
import { Scanner } from './snapshot/scanner.ts'
import type { Snapshot } from './snapshot/snapshot.ts'
import type { ScanTarget, SnapshotDir } from './snapshot/snapshot_dir.ts'
import { UnchangedDirectories } from './snapshot/unchanged_directories.ts'

// So many new directories are taken in at once: their listings need not be kept then.
const PIECE = 4096

/** A listing of a directory, whole or of some names, and the names that events were about since. */
export interface Look {
  directory: Directory
  names: readonly string[] | undefined
  listing: Listing
  spoken: ReadonlySet<string>
}

/** Scans, reconciles and reports: all changes that are found otherwise than by an event. */
export class Rescan {
  readonly #context: DiffContext
  readonly #walker: TreeWalker
  readonly scanner: Scanner
  readonly looker: Looker

  constructor(context: DiffContext) {
    this.#context = context
    this.#walker = context.system.openWalker()
    this.scanner = new Scanner(context, this.#walker)
    this.looker = new Looker(context, this.#walker, this.scanner)
  }

  /** Drops what was scanned ahead and not taken in: it is out of date. */
  async forgetAhead(): Promise<void> {
    for (const wd of await this.#walker.forgetAhead()) this.#context.tree.disown(wd)
  }

  /** Takes in all below a root of which nothing is known yet, in pieces, as the walker finds it. */
  async load(top: Directory, options: DiffOptions): Promise<RootFinding | undefined> {
    const { tree, rules, watchLimit } = this.#context
    // A scan ahead has asked for the same watches.
    watchLimit?.settle()
    bump([top])
    const lazy = this.#mayBeLazy(top, options) ? tree.beginLazy(top) : undefined
    const snapshot = this.scanner.begin()
    const outcome = this.#begin()
    const take = () => this.#takePiece(snapshot, options, outcome)
    const progress = () => {
      const [root] = snapshot.directories
      const isRoot = lazy !== undefined && outcome.roots.size === 0 && root?.listing?.isPlain === true
      // The ends of links are not known before all has been walked.
      if (isRoot || (snapshot.directories.length >= PIECE && !rules.followsLinks)) take()
      if (isRoot) lazy.open()
    }
    try {
      const target = this.scanner.target(snapshot, top)
      await this.scanner.extend(snapshot, [target], { leftOut: lazy, progress })
    } finally {
      lazy?.seal()
    }
    this.take(snapshot, options, outcome)
    return outcome.roots.get(top)
  }

  /**
   * Lists whole mounts, and reports the renames and other changes that turn the tree into what they are. `unlisted`: the shortage by which there may
   * be more to report.
   */
  async reconcile(
    tops: readonly Directory[],
    options: DiffOptions,
  ): Promise<{ roots: Map<Directory, RootFinding>; unlisted: InotifyError | undefined }> {
    bump(tops)
    const leftOut = this.#mayLeaveOut(options)
    // A saved tree is compared in all entries.
    const since = options.isSaved ? Number.POSITIVE_INFINITY : options.since
    const snapshot = await this.scanner.scan(tops, { ...options, since, leftOut })
    const outcome = this.#begin()
    this.take(snapshot, options, outcome)
    return { roots: outcome.roots, unlisted: outcome.status.unlisted }
  }

  /**
   * Lists directories with all that is below them, and looks at names.
   *
   * @param since see {@link DirtySet.list}
   * @param source 'poll': for what is polled otherwise
   */
  async list(
    directories: readonly Directory[],
    names: ReadonlyMap<Directory, ReadonlySet<string>>,
    since: number,
    source: 'rescan' | 'poll' = 'rescan',
  ): Promise<void> {
    const { rules } = this.#context
    const snapshot = this.scanner.begin()
    const whole = rules.recursive ? topmost(directories) : directories
    const targets = whole.map((directory) => this.scanner.target(snapshot, directory))
    for (const [directory, some] of names) {
      if (whole.some((each) => each === directory || (rules.recursive && isWithin(directory, each)))) continue
      targets.push(this.scanner.target(snapshot, directory, { isLook: true, names: some }))
    }
    bump(targets.flatMap(({ requested }) => requested ?? []))
    const options = { ...RESCAN, source, since, statAll: since !== Number.POSITIVE_INFINITY }
    await this.scanner.extend(snapshot, targets, options)
    this.take(snapshot, options)
  }

  /** Compares looks at some directories with the tree, and reports the differences. */
  async takeIn(looks: readonly Look[]): Promise<void> {
    const { tree } = this.#context
    const current = looks.filter(({ directory }) => tree.isAttached(directory))
    if (current.length === 0) return
    bump(current.map(({ directory }) => directory))
    const snapshot = this.scanner.begin()
    const questions = current.map(({ directory, names }) => [directory, names] as const)
    const targets = this.looker.targets(questions, snapshot)
    for (const [i, { listing, spoken }] of current.entries()) {
      snapshot.begin([targets[i] as ScanTarget])
      const found = snapshot.take(listing, 0)
      if (found !== undefined) found.except = spoken
    }
    await this.scanner.complete(snapshot, RESCAN)
    this.take(snapshot, RESCAN)
  }

  close(): Promise<void> {
    return this.#walker.close()
  }

  /** Returns what leaves unchanged directories out of a scan. undefined: that cannot be told, or the scan has to go into them for another reason. */
  #mayLeaveOut({ matchByName, isSaved }: DiffOptions): UnchangedDirectories | undefined {
    const { tree, rules } = this.#context
    if (matchByName || isSaved || rules.hidesSome || rules.followsLinks) return undefined
    return new UnchangedDirectories(tree)
  }

  #mayBeLazy(top: Directory, { baseline, statAll }: DiffOptions): boolean {
    const { recursive, hidesSome, followsLinks } = this.#context.rules
    const isPlain = recursive && !hidesSome && !followsLinks
    return baseline && !statAll && isPlain && !top.mount.usesPolling && !top.isListed
  }

  #begin(): Outcome {
    const { tree, sourceChoice, watchLimit } = this.#context
    return { roots: new Map(), status: new WatchStatus(tree, sourceChoice.mayFallBack, watchLimit) }
  }

  #takePiece(snapshot: Snapshot, options: DiffOptions, outcome: Outcome): readonly Change[] {
    const { tree, rules, pending, reporter } = this.#context
    if (!options.baseline) {
      if (options.since !== Number.POSITIVE_INFINITY) learnNumbers(snapshot, tree, options.since)
      forgetNumbers(snapshot, tree)
    }
    const changes = reconcile({ tree, rules, pending, options, snapshot, ...outcome })
    const { changed } = options
    if (changed !== undefined)
      for (const each of changedAmong(snapshot.directories, changes, tree)) changed.add(each)
    snapshot.directories = []
    if (!options.baseline) reporter.report(changes)
    return changes
  }

  /** Takes in a snapshot, or the last piece of it, and returns the changes. */
  take(snapshot: Snapshot, options: DiffOptions, outcome = this.#begin()): readonly Change[] {
    const { reporter, watchShortage, watchLimit } = this.#context
    const changes = this.#takePiece(snapshot, options, outcome)
    watchLimit?.settle()
    const { trouble, outOfWatches, hasAdded } = outcome.status
    if (trouble !== undefined) reporter.trouble(trouble)
    if (outOfWatches !== undefined) watchShortage.note(outOfWatches)
    // Directories come and go all the time: a limit that was reached will be again, and that has been told.
    else if (hasAdded && watchLimit === undefined) watchShortage.end()
    return changes
  }
}

/** Notes that the known entries of these mounts may change from now on, other than by a poll. */
function bump(directories: Iterable<Directory>): void {
  for (const { mount } of directories) mount.revision++
}

/** Returns the directories among those found in which something has changed, new ones too. */
function changedAmong(found: readonly SnapshotDir[], changes: readonly Change[], tree: Tree): Directory[] {
  if (changes.length === 0) return []
  const paths = new Set(changes.flatMap(pathsOf).map((path) => dirname(path)))
  return found.flatMap(({ match, isNew }) =>
    match !== undefined && (isNew || paths.has(tree.pathOf(match))) ? [match] : [],
  )
}

/** Returns the directories that lie below no other. */
export function topmost(directories: Iterable<Directory>): Directory[] {
  const all = new Set(directories)
  return [...all].filter((directory) => {
    for (let each = directory.parent; each !== undefined; each = each.parent) if (all.has(each)) return false
    return true
  })
}
