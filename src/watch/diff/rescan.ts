import { debuglog } from 'node:util'
import type { InotifyError } from '../../errors.ts'
import type { Choice } from '../../mounts/filesystems.ts'
import { CLOCK_SLACK_MS } from '../clock.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import type { Translator } from '../events/translator.ts'
import type { WatchRelease } from '../events/watch_release.ts'
import type { Settings } from '../options.ts'
import type { Questions } from '../pending/recheck_queue.ts'
import type { Surroundings } from '../pending/work_list.ts'
import type { Change } from '../report/change.ts'
import { textOf } from '../report/name_key.ts'
import type { Entries, Entry } from '../scan/entry.ts'
import type { Listing } from '../scan/listing.ts'
import { findingOf, type RootFinding } from '../scan/root_finding.ts'
import type { WalkRequest } from '../scan/walk_request.ts'
import type { TreeWalker, WatchSystem } from '../system.ts'
import { type Directory, isLinkBase, keepsStat } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { WatchStatus } from '../tree/watch_status.ts'
import { WatchedMount } from '../tree/watched_mount.ts'
import type { DiffOptions } from './diff_options.ts'
import { Reconciliation } from './reconcile.ts'
import { type Boundary, Survey } from './survey.ts'

const trace = debuglog('inotify-bridge')

// Whoever moves directories without a pause is not waited for: what is left in doubt is looked at later.
const MOST_ATTEMPTS = 64

/** What a name was seen to be, by wd and name; null: nothing is there. */
export type StatResults = Map<number, Map<string, Entry | null>>

/** What was seen in a directory, all of it or these names, and what events have spoken of since. */
export interface Look {
  directory: Directory
  names: readonly string[] | undefined
  listing: Listing
  spoken: ReadonlySet<string>
}

/** A symlink whose target is to be watched in its place. */
export interface Link {
  parent: Directory
  name: string
}

export interface RescanParts {
  system: Pick<WatchSystem, 'openWalker' | 'clock'>
  tree: Tree
  translator: Translator
  around: Surroundings
  settings: Pick<Settings, 'hash'>
  inotify(): InotifySource | undefined
  /** The source for what is at this path; undefined: it is not to be watched, and why. */
  choose(path: string): Promise<Choice | { refused: Error }>
  /** Another mount has begun below this directory. */
  extended(mount: WatchedMount, parent: Directory): void
  watches: WatchRelease
  report(changes: Change[]): void
  trouble(error: unknown): void
  /** What is believed of these may be otherwise from now on: not because a poll has found it so. */
  overtaken(directories: readonly Directory[]): void
}

/** Sends the walker through directories, and into what comes up on its way: other mounts, and symlinks that are followed. */
export class Rescan {
  readonly #parts: RescanParts
  readonly #walker: TreeWalker
  // That there are no more has been said.
  #isOutOfWatches = false
  #links: Link[] = []

  constructor(parts: RescanParts) {
    this.#parts = parts
    this.#walker = parts.system.openWalker()
  }

  follow(link: Link): void {
    this.#links.push(link)
  }

  /** Whether there are symlinks to be followed. */
  get hasLinks(): boolean {
    return this.#links.length > 0
  }

  /**
   * Lists directories, adds their watches, and tells how they differ from what is believed. `told` gets changes as they are found;
   * without it they are told together at the end, when it is known what has moved.
   */
  async survey(
    directories: readonly Directory[],
    options: DiffOptions,
    told?: (changes: Change[]) => void,
  ): Promise<Map<Directory, RootFinding>> {
    const { tree, translator, around } = this.#parts
    this.#parts.overtaken(directories)
    const survey = new Survey(tree, translator, around, options)
    const take = (listing: Listing) => {
      survey.take(listing)
      told?.(survey.takeChanges())
    }
    await this.#complete(survey, directories, take)
    return survey.roots
  }

  /**
   * Lists whole mounts, and tells by what renames and other changes they have become what they are. `unlisted`: what was short, so
   * that there may be more to be told.
   *
   * A directory that moves while the walk is on its way to it is not looked into: it is gone from where it was, and where it is now may have been
   * walked before. Its rename, of which an event tells, fits what is believed, and nobody would ever know what was done in it before. So all is
   * listed once more, until nothing has moved.
   */
  async reconcile(
    tops: readonly Directory[],
    options: DiffOptions,
  ): Promise<{ roots: Map<Directory, RootFinding>; unlisted: InotifyError | undefined }> {
    const { clock } = this.#parts.system
    const comparedSince = new Map<Directory, number>()
    for (let attempt = 1; ; attempt++) {
      const since = options.since === Number.POSITIVE_INFINITY ? options.since : clock.now() - CLOCK_SLACK_MS
      this.#parts.overtaken(tops)
      const reconciliation = this.#reconciliation({ ...options, comparedSince })
      await this.#complete(reconciliation, tops, (listing) => reconciliation.take(listing))
      const { roots, unlisted, isIncomplete, compared } = reconciliation
      if (!isIncomplete || attempt === MOST_ATTEMPTS) return { roots, unlisted }
      for (const each of compared) comparedSince.set(each, since)
    }
  }

  /** Takes in what was listed elsewhere, and goes on from there. The answer: whether there was anything to tell. */
  async takeListings(
    directories: readonly Directory[],
    listings: Iterable<Listing>,
    options: DiffOptions,
  ): Promise<boolean> {
    const survey = this.#reconciliation(options)
    survey.begin(directories)
    for (const listing of listings) survey.take(listing)
    return await this.#complete(survey, [], (listing) => survey.take(listing))
  }

  /** What is there now. */
  async lookAt(questions: Questions): Promise<Map<Directory, Listing>> {
    const { tree, inotify } = this.#parts
    const found = new Map<Directory, Listing>()
    const asked = [...questions.keys()].filter((directory) => tree.isAttached(directory))
    const requests = asked.map((directory): WalkRequest => {
      const names = questions.get(directory)
      const place = this.#placeOf(directory)
      return names === undefined
        ? { ...place, watch: directory.mount.usesInotify, stat: true, hash: this.#hashes(directory) }
        : { ...place, hash: this.#hashes(directory), names }
    })
    const take = (listing: Listing) => {
      if (listing.parent === undefined) found.set(asked[listing.id] as Directory, listing)
    }
    await this.#walker.walk(requests, take, inotify()?.watching)
    return found
  }

  /** Holds what was seen in some directories against what is believed, and tells how it differs. */
  async takeIn(looks: readonly Look[], options: DiffOptions): Promise<void> {
    const { tree, translator, around } = this.#parts
    this.#parts.overtaken(looks.map(({ directory }) => directory))
    const survey = new Survey(tree, translator, around, options)
    for (const { directory, names, listing, spoken } of looks) {
      if (names === undefined) survey.takeWhole(directory, listing, spoken)
      else
        survey.takeNames(
          directory,
          names.filter((name) => !spoken.has(name)),
          listing.entries(),
        )
    }
    await this.#complete(survey, [], (listing) => survey.take(listing))
  }

  /** What is at these names now, by wd. */
  async look(names: ReadonlyMap<number, ReadonlySet<string>>): Promise<StatResults> {
    const looks: StatResults = new Map()
    const requests: WalkRequest[] = []
    const asked: Array<[number, Directory, readonly string[]]> = []
    for (const [wd, some] of names) {
      const directory = this.#parts.tree.at(wd).find((each) => this.#parts.tree.isAttached(each))
      if (directory === undefined) continue
      const list = [...some]
      asked.push([wd, directory, list])
      requests.push({ ...this.#placeOf(directory), hash: this.#hashes(directory), names: list })
    }
    await this.#walker.walk(requests, (listing) => {
      const [wd, directory, list] = asked[listing.id] as [number, Directory, string[]]
      if (listing.error !== 0 || !isIt(directory, listing)) return
      const seen: Entries = listing.entries()
      looks.set(wd, new Map(list.map((name) => [name, seen.get(name) ?? null])))
    })
    return looks
  }

  /** What is at the place of these roots now. */
  async identify(roots: readonly Directory[]): Promise<Map<Directory, RootFinding>> {
    const found = new Map<Directory, RootFinding>()
    const requests = roots.map((root) => ({ ...this.#placeOf(root), names: [] }))
    await this.#walker.walk(requests, (listing) => {
      found.set(roots[listing.id] as Directory, findingOf(listing))
    })
    return found
  }

  /** Where a poll finds a directory. */
  pollRequest(directory: Directory, recursive: boolean): WalkRequest {
    const hash = this.#hashes(directory)
    return { ...this.#placeOf(directory), recursive, stat: true, compare: true, hash }
  }

  close(): Promise<void> {
    return this.#walker.close()
  }

  #hashes({ mount }: Directory): boolean {
    return this.#parts.settings.hash && mount.usesPolling
  }

  // Where something is ignored, what was found depends on the names that things have: a rename changes it.
  #reconciliation(options: DiffOptions): Reconciliation | Survey {
    const { tree, translator, around } = this.#parts
    if (around.hidesSome) return new Survey(tree, translator, around, options)
    return new Reconciliation(tree, translator, around, options)
  }

  async #complete(
    survey: Survey | Reconciliation,
    first: readonly Directory[],
    take: (listing: Listing) => void,
  ): Promise<boolean> {
    const { tree, report, trouble } = this.#parts
    const inotify = this.#parts.inotify()
    try {
      for (let next = first; ; ) {
        survey.begin(next)
        const requests = next.map((directory) => this.#surveyRequest(directory, survey.options))
        const unmade = survey instanceof Survey ? survey.unmade : undefined
        await this.#walker.walk(requests, take, inotify?.watching, unmade)
        if (survey instanceof Survey) await this.#extend(survey)
        next = survey.takeDeeper().filter((directory) => tree.isAttached(directory))
        if (next.length === 0) break
        this.#parts.overtaken(next)
      }
    } catch (error) {
      // What has been taken in is believed from now on, and is not found again.
      if (survey instanceof Survey) report(survey.takeChanges())
      throw error
    }
    const changes = survey.finish()
    report(changes)
    if (survey.shortage !== undefined) trouble(survey.shortage)
    this.#tellOutOfWatches(survey.watchStatus)
    this.#parts.watches.releaseUnused()
    return changes.length > 0
  }

  /** A shortage concerns many directories, and those that come later too: it is told once, until a watch could be had again. */
  #tellOutOfWatches({ outOfWatches, hasAdded }: WatchStatus): void {
    if (outOfWatches === undefined) {
      if (hasAdded) this.#isOutOfWatches = false
      return
    }
    if (!this.#isOutOfWatches) this.#parts.trouble(outOfWatches)
    this.#isOutOfWatches = true
  }

  #surveyRequest(directory: Directory, { statAll }: DiffOptions): WalkRequest {
    const { recursive, hidesSome } = this.#parts.around
    const { mount } = directory
    return {
      ...this.#placeOf(directory),
      // What is ignored is never opened, and only JavaScript knows what that is: so, level by level.
      recursive: recursive && !hidesSome,
      watch: mount.usesInotify,
      stat: keepsStat(directory) || statAll,
      hash: this.#hashes(directory),
    }
  }

  async #extend(survey: Survey): Promise<void> {
    const links = this.#links
    this.#links = []
    for (const boundary of survey.takeBoundaries()) await this.#cross(survey, boundary)
    for (const link of links) await this.#enter(survey, link)
  }

  /** How to get there: from the root, or from the link that leads there. */
  #placeOf(directory: Directory): { root: string; rel: string; parentIno?: number } {
    const names: string[] = []
    let base = directory
    for (; base.parent !== undefined && !isLinkBase(base); base = base.parent) names.push(base.name)
    const rel = names.reverse().join('/')
    const root = this.#parts.tree.pathOf(base)
    const parentIno = base === directory ? 0 : (directory.parent?.ino ?? 0)
    return parentIno === 0 ? { root, rel } : { root, rel, parentIno }
  }

  /** Another mount has its own source. */
  async #cross(survey: Survey, { parent, name, mountId }: Boundary): Promise<void> {
    const { tree, choose } = this.#parts
    if (!tree.isAttached(parent)) return
    const path = tree.pathOf(parent, name)
    const choice = await choose(textOf(path)).catch((error: Error) => ({ refused: error }))
    if ('refused' in choice) {
      trace('%s: not watched: %s', path, choice.refused)
      survey.createLeaf(parent, name, 'directory')
      parent.mount.refuse(parent, name, choice.refused)
      return
    }
    trace('%s: %s, because %s', path, choice.backend, choice.why)
    this.#begin(survey, parent, name, new WatchedMount(choice.backend, choice.why, mountId))
  }

  /** What a symlink leads to takes its place, unless it is no directory, or one that it lies in. */
  async #enter(survey: Survey, { parent, name }: Link): Promise<void> {
    const { tree, choose } = this.#parts
    if (!tree.isAttached(parent)) return
    const path = tree.pathOf(parent, name)
    let found: { error: number; ino: number; mountId: number } | undefined
    await this.#walker.walk([{ root: path, rel: '', names: [] }], ({ error, ino, mountId }) => {
      found = { error, ino, mountId }
    })
    const choice =
      found?.error === 0 && !isCycle(parent, found)
        ? await choose(textOf(path)).catch(() => undefined)
        : undefined
    if (found === undefined || choice === undefined || 'refused' in choice) {
      survey.createLeaf(parent, name, 'symlink')
      return
    }
    this.#begin(survey, parent, name, new WatchedMount(choice.backend, choice.why, found.mountId, true))
  }

  #begin(survey: Survey, parent: Directory, name: string, mount: WatchedMount): void {
    parent.mount.allow(parent, name)
    survey.createBase(parent, name, mount)
    // It may have been known already.
    if (mount.base !== undefined) this.#parts.extended(mount, parent)
  }
}

function isIt(directory: Directory, listing: Listing): boolean {
  return directory.ino === 0 || directory.ino === listing.ino
}

function isCycle(parent: Directory, { ino, mountId }: { ino: number; mountId: number }): boolean {
  for (let each: Directory | undefined = parent; each !== undefined; each = each.parent) {
    if (each.ino === ino && each.mount.mountId === mountId) return true
  }
  return false
}
